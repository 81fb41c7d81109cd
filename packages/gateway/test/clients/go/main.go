// Calls every operation of the catalog: `go run . ORIGIN`. Writes the name of each that answered well.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"
)

const big = "9007199254740993"

var (
	ctx    = context.Background()
	text   = []byte{0, 255, 10, 13}
	emma   = volume("shelves/a/volumes/"+big, big, "Emma")
	client *ClientWithResponses
)

func main() {
	var err error
	if client, err = NewClientWithResponses(os.Args[1]); err != nil {
		panic(err)
	}
	call("CreateVolume", func() {
		answer := must(client.CatalogServiceCreateVolumeWithResponse(ctx, "a", nil, input("", "Emma")))
		equal(answer.JSON200, emma)
		// A body that may be absent is the empty message.
		empty := must(client.CatalogServiceCreateVolumeWithBodyWithResponse(ctx, "z", nil, "", nil))
		equal(*empty.JSON200.Name, "shelves/z/volumes/0")
	})
	call("GetVolume", func() {
		equal(must(client.CatalogServiceGetVolumeWithResponse(ctx, "a", big, nil)).JSON200, emma)
		none := must(client.CatalogServiceGetVolumeWithResponse(ctx, "a", "none", nil))
		equal(none.StatusCode(), 404)
		equal(*none.JSONDefault.Code, int32(5))
		equal(*none.JSONDefault.Message, "there is no shelves/a/volumes/none")
	})
	call("GetVolume2", func() {
		equal(must(client.CatalogServiceGetVolume2WithResponse(ctx, big, nil)).JSON200, emma)
	})
	call("ListVolumes", func() {
		size := int32(5)
		params := &CatalogServiceListVolumesParams{PageSize: &size, Titles: &[]string{"Emma", "Walden"}}
		equal(*must(client.CatalogServiceListVolumesWithResponse(ctx, "a", params)).JSON200.Volumes, []Volume{*emma})
		wrong := func(_ context.Context, request *http.Request) error {
			request.URL.RawQuery = "pageSize=2147483648"
			return nil
		}
		refused := must(client.CatalogServiceListVolumesWithResponse(ctx, "a", nil, wrong))
		equal(*(*refused.JSONDefault.Details)[0].Type, "type.googleapis.com/google.rpc.BadRequest")
	})
	call("UpdateVolume", func() {
		title := "Emma, 1"
		body := CatalogServiceUpdateVolumeBody{Title: &title}
		equal(*must(client.CatalogServiceUpdateVolumeWithResponse(ctx, "a", big, nil, body)).JSON200.Title, title)
		// With omitempty, its type has no null to clear a field with.
		title = "Emma, 2"
		patch := CatalogServiceUpdateVolumeBody{Title: &title}
		patched := must(client.CatalogServiceUpdateVolumeWithApplicationMergePatchPlusJSONBodyWithResponse(ctx, "a", big, nil, patch))
		equal(*patched.JSON200.Title, title)
		title = "Emma"
		mask := "title"
		params := &CatalogServiceUpdateVolumeParams{UpdateMask: &mask}
		equal(must(client.CatalogServiceUpdateVolumeWithResponse(ctx, "a", big, params, body)).JSON200, emma)
	})
	call("UploadVolume", func() {
		body := bytes.NewReader(text)
		equal(must(client.CatalogServiceUploadVolumeWithBodyWithResponse(ctx, "a", big, "text/x-novel", body)).JSON200, emma)
	})
	call("DownloadVolume", func() {
		answer := must(client.CatalogServiceDownloadVolumeWithResponse(ctx, "a", big, nil))
		equal(answer.Body, text)
		equal(answer.HTTPResponse.Header.Get("Content-Type"), "text/x-novel")
	})
	call("AppendVolume", func() {
		body := bytes.NewReader(text)
		equal(must(client.CatalogServiceAppendVolumeWithBodyWithResponse(ctx, "a", big, "text/x-novel", body)).JSON200, emma)
	})
	call("StreamVolume", func() {
		equal(must(client.CatalogServiceStreamVolumeWithResponse(ctx, "a", big, nil)).Body, text)
	})
	call("ImportVolumes", func() {
		array := []VolumeInput{input("1", "Walden"), input("", "Dune")}
		equal(*must(client.CatalogServiceImportVolumesWithResponse(ctx, "b", nil, array)).JSON200.Count, "2")
		// NDJSON is the caller's to write.
		lines := strings.NewReader("{\"id\":3,\"title\":\"Ulysses\"}\n")
		answer := must(client.CatalogServiceImportVolumesWithBodyWithResponse(ctx, "b", nil, "application/x-ndjson", lines))
		equal(*answer.JSON200.Count, "1")
	})
	call("WatchVolumes", func() {
		// The client asks for no form: the Accept is the caller's to set.
		asArray := func(_ context.Context, request *http.Request) error {
			request.Header.Set("Accept", "application/json")
			return nil
		}
		var ids []string
		for _, item := range *must(client.CatalogServiceWatchVolumesWithResponse(ctx, "b", nil, asArray)).JSON200 {
			ids = append(ids, *must(item.AsVolume()).Id)
		}
		equal(ids, []string{"1", big, "3"})
		// NDJSON comes as it is: its lines are the caller's to read.
		response := must(client.ClientInterface.CatalogServiceWatchVolumes(ctx, "b", nil))
		defer response.Body.Close()
		ids = nil
		for decoder := json.NewDecoder(response.Body); decoder.More(); {
			var one Volume
			check(decoder.Decode(&one))
			ids = append(ids, *one.Id)
		}
		equal(ids, []string{"1", big, "3"})
	})
	call("MoveVolume", func() {
		to := "shelves/c"
		answer := must(client.CatalogServiceMoveVolumeWithResponse(ctx, "a", big, CatalogServiceMoveVolumeBody{To: &to}))
		equal(answer.JSON200, volume("shelves/c/volumes/"+big, big, "Emma"))
	})
	call("DeleteVolume", func() {
		equal(*must(client.CatalogServiceDeleteVolumeWithResponse(ctx, "c", big)).JSON200, Empty{})
	})
	call("ReadFile", func() {
		equal(*must(client.CatalogServiceReadFileWithResponse(ctx, "a b.txt")).JSON200.Path, "a b.txt")
	})
	call("ReadFile_2", func() {
		equal(*must(client.CatalogServiceReadFile2WithResponse(ctx, "a", "b.txt")).JSON200.Path, "a/b.txt")
	})
	call("ReadFile_3", func() {
		equal(*must(client.CatalogServiceReadFile3WithResponse(ctx, "a", "b", "c")).JSON200.Path, "a/b/c")
	})
	call("ReadFile_4", func() {
		equal(*must(client.CatalogServiceReadFile4WithResponse(ctx, "a", "b", "c", "d")).JSON200.Path, "a/b/c/d")
	})
	call("GetBook", func() {
		equal(*must(client.BookServiceGetBookWithResponse(ctx, "a", "1", nil)).JSON200.Title, "Emma")
	})
	call("UpdateBook2", func() {
		mask, title := "title", "Emma"
		body := UpdateBookRequest{Book: BookPatch{Title: &title}, UpdateMask: &mask}
		equal(*must(client.BookServiceUpdateBook2WithResponse(ctx, body)).JSON200.Title, title)
	})
	call("UpdateBook", func() {
		before := must(client.BookServiceGetBookWithResponse(ctx, "a", "1", nil)).JSON200
		title := "Persuasion"
		body := BookServiceUpdateBookBody{Title: &title}
		after := must(client.BookServiceUpdateBookWithResponse(ctx, "a", "1", nil, body)).JSON200
		before.Title = &title // and nothing else
		equal(after, before)
	})
}

func call(name string, run func()) {
	defer func() {
		if reason := recover(); reason != nil {
			fmt.Printf("failed %s: %v\n", name, reason)
		} else {
			fmt.Printf("passed %s\n", name)
		}
	}()
	run()
}

func volume(name string, id string, title string) *Volume {
	return &Volume{Name: &name, Id: &id, Title: &title}
}

// Without digits the id is a number, the big one.
func input(digits string, title string) VolumeInput {
	var id Int64Input
	if digits == "" {
		check(id.FromInt64Input0(9007199254740993))
	} else {
		check(id.FromInt64Text(digits))
	}
	return VolumeInput{Id: &id, Title: &title}
}

func equal(actual any, expected any) {
	if !reflect.DeepEqual(actual, expected) {
		panic(fmt.Sprintf("%v is not %v", told(actual), told(expected)))
	}
}

func told(value any) string {
	return string(must(json.Marshal(value)))
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
