// The catalog on grpc-go, in memory, with health and reflection. It knows nothing of REST.
package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	v1 "example.com/catalog/gen/library/v1"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

type catalog struct {
	v1.UnimplementedCatalogServiceServer
	mutex   sync.Mutex
	volumes []*v1.Volume
	texts   map[string]*httpbody.HttpBody
}

func main() {
	server := grpc.NewServer()
	v1.RegisterCatalogServiceServer(server, &catalog{texts: map[string]*httpbody.HttpBody{}})
	healthpb.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("listening on %d\n", listener.Addr().(*net.TCPAddr).Port)
	if err := server.Serve(listener); err != nil {
		panic(err)
	}
}

func (c *catalog) find(is func(*v1.Volume) bool, what string) (*v1.Volume, error) {
	if i := slices.IndexFunc(c.volumes, is); i >= 0 {
		return c.volumes[i], nil
	}
	return nil, status.Errorf(codes.NotFound, "there is no %s", what)
}

func (c *catalog) named(name string) (*v1.Volume, error) {
	return c.find(func(volume *v1.Volume) bool { return volume.Name == name }, name)
}

func (c *catalog) add(parent string, given *v1.Volume) *v1.Volume {
	name := fmt.Sprintf("%s/volumes/%d", parent, given.GetId())
	volume := &v1.Volume{Name: name, Id: given.GetId(), Title: given.GetTitle()}
	if i := slices.IndexFunc(c.volumes, func(one *v1.Volume) bool { return one.Name == name }); i >= 0 {
		c.volumes[i] = volume
	} else {
		c.volumes = append(c.volumes, volume)
	}
	return volume
}

func (c *catalog) remove(name string) (*v1.Volume, error) {
	volume, err := c.named(name)
	c.volumes = slices.DeleteFunc(c.volumes, func(one *v1.Volume) bool { return one == volume })
	return volume, err
}

func (c *catalog) GetVolume(_ context.Context, in *v1.GetVolumeRequest) (*v1.Volume, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if in.Name != "" {
		return c.named(in.Name)
	}
	return c.find(func(volume *v1.Volume) bool { return volume.Id == in.Id }, fmt.Sprintf("volume %d", in.Id))
}

func (c *catalog) ListVolumes(_ context.Context, in *v1.ListVolumesRequest) (*v1.ListVolumesResponse, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	out := &v1.ListVolumesResponse{}
	for _, volume := range c.volumes {
		isAsked := len(in.Titles) == 0 || slices.Contains(in.Titles, volume.Title)
		hasRoom := in.PageSize == 0 || len(out.Volumes) < int(in.PageSize)
		if strings.HasPrefix(volume.Name, in.Parent+"/") && isAsked && hasRoom {
			out.Volumes = append(out.Volumes, volume)
		}
	}
	return out, nil
}

func (c *catalog) CreateVolume(_ context.Context, in *v1.CreateVolumeRequest) (*v1.Volume, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.add(in.Parent, in.Volume), nil
}

func (c *catalog) UpdateVolume(_ context.Context, in *v1.UpdateVolumeRequest) (*v1.Volume, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	volume, err := c.named(in.Volume.GetName())
	if err == nil && slices.Contains(in.UpdateMask.GetPaths(), "title") {
		volume.Title = in.Volume.GetTitle()
	}
	return volume, err
}

func (c *catalog) DeleteVolume(_ context.Context, in *v1.DeleteVolumeRequest) (*emptypb.Empty, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	_, err := c.remove(in.Name)
	return &emptypb.Empty{}, err
}

func (c *catalog) MoveVolume(_ context.Context, in *v1.MoveVolumeRequest) (*v1.Volume, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	volume, err := c.remove(in.Name)
	if err != nil {
		return nil, err
	}
	return c.add(in.To, volume), nil
}

func (c *catalog) text(name string) (*httpbody.HttpBody, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if _, err := c.named(name); err != nil {
		return nil, err
	}
	if text := c.texts[name]; text != nil {
		return text, nil
	}
	return &httpbody.HttpBody{}, nil
}

func (c *catalog) keep(name string, text *httpbody.HttpBody) (*v1.Volume, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.texts[name] = text
	return c.named(name)
}

func (c *catalog) DownloadVolume(_ context.Context, in *v1.GetVolumeRequest) (*httpbody.HttpBody, error) {
	return c.text(in.Name)
}

func (c *catalog) UploadVolume(_ context.Context, in *v1.UploadVolumeRequest) (*v1.Volume, error) {
	return c.keep(in.Name, in.Content)
}

func (c *catalog) WatchVolumes(in *v1.ListVolumesRequest, stream grpc.ServerStreamingServer[v1.Volume]) error {
	list, err := c.ListVolumes(stream.Context(), in)
	for _, volume := range list.GetVolumes() {
		if err := stream.Send(volume); err != nil {
			return err
		}
	}
	return err
}

func (c *catalog) ImportVolumes(stream grpc.ClientStreamingServer[v1.CreateVolumeRequest, v1.ImportVolumesResponse]) error {
	out := &v1.ImportVolumesResponse{}
	for in, err := range received(stream) {
		if err != nil {
			return err
		}
		c.CreateVolume(stream.Context(), in)
		out.Count++
	}
	return stream.SendAndClose(out)
}

func (c *catalog) StreamVolume(in *v1.GetVolumeRequest, stream grpc.ServerStreamingServer[httpbody.HttpBody]) error {
	text, err := c.text(in.Name)
	for piece := range slices.Chunk(text.GetData(), 1024) {
		if err := stream.Send(&httpbody.HttpBody{ContentType: text.ContentType, Data: piece}); err != nil {
			return err
		}
	}
	return err
}

func (c *catalog) AppendVolume(stream grpc.ClientStreamingServer[v1.UploadVolumeRequest, v1.Volume]) error {
	name, text := "", &httpbody.HttpBody{}
	for in, err := range received(stream) {
		if err != nil {
			return err
		}
		name, text.ContentType = in.Name, in.Content.GetContentType()
		text.Data = append(text.Data, in.Content.GetData()...)
	}
	volume, err := c.keep(name, text)
	if err != nil {
		return err
	}
	return stream.SendAndClose(volume)
}

func (c *catalog) ReadFile(_ context.Context, in *v1.ReadFileRequest) (*v1.ReadFileRequest, error) {
	return in, nil
}
