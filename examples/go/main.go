// Creates a plant over gRPC, and shows what a caller has to be ready for.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"net/url"
	"os"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	plantstorev1 "example.com/create-plant/gen/plantstore/v1"
)

//go:generate npx buf generate ../../gen/plantstore.binpb --path plantstore

const (
	attemptTimeout = 2 * time.Second
	totalTimeout   = 20 * time.Second
	firstBackoff   = 100 * time.Millisecond
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	connection, err := connect(os.Getenv("PLANT_STORE_URL"))
	if err != nil {
		return err
	}
	defer connection.Close()
	client := plantstorev1.NewPlantServiceClient(connection)
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+os.Getenv("PLANT_STORE_TOKEN"))

	basil := &plantstorev1.NewPlant{
		Id:   proto.Int64(9007199254740993), // Any int64: this one is not a double.
		Name: proto.String("Basil"),
		Tag:  proto.String("herb"),
	}
	// The same call again is safe: it has the same answer, and there is one plant.
	for _, label := range []string{"created", "again"} {
		plant, err := createPlant(ctx, client, basil)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s (%s)\n", label, plant.GetName(), plant.GetTag())
	}

	mint := &plantstorev1.NewPlant{Id: basil.Id, Name: proto.String("Mint"), Tag: basil.Tag}
	_, err = createPlant(ctx, client, mint)
	if status.Code(err) != codes.AlreadyExists {
		return fmt.Errorf("an id was used twice: %v", err)
	}
	fmt.Printf("taken: %s\n", status.Convert(err).Message())

	nameless := &plantstorev1.NewPlant{Id: basil.Id, Tag: basil.Tag}
	_, err = createPlant(ctx, client, nameless)
	if status.Code(err) != codes.InvalidArgument {
		return fmt.Errorf("a plant without a name: %v", err)
	}
	for _, detail := range status.Convert(err).Details() {
		if badRequest, ok := detail.(*errdetails.BadRequest); ok {
			for _, violation := range badRequest.GetFieldViolations() {
				fmt.Printf("refused: %s %s\n", violation.GetField(), violation.GetDescription())
			}
		}
	}
	return nil
}

func connect(address string) (*grpc.ClientConn, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	transport := insecure.NewCredentials()
	if parsed.Scheme == "https" {
		transport = credentials.NewTLS(nil)
	}
	return grpc.NewClient(parsed.Host, grpc.WithTransportCredentials(transport))
}

// createPlant creates a plant, and tries again while that may help. A lost answer
// leaves it open whether the plant was stored; the next attempt settles it.
func createPlant(
	ctx context.Context, client plantstorev1.PlantServiceClient, plant *plantstorev1.NewPlant,
) (*plantstorev1.Plant, error) {
	ctx, cancel := context.WithTimeout(ctx, totalTimeout)
	defer cancel()
	for backoff := firstBackoff; ; backoff *= 2 {
		stored, err := attempt(ctx, client, plant)
		if err == nil || !mayPass(err) {
			return stored, err
		}
		pause := rand.N(backoff)
		log.Printf("%s, trying again in %s", status.Code(err), pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		}
	}
}

func attempt(
	ctx context.Context, client plantstorev1.PlantServiceClient, plant *plantstorev1.NewPlant,
) (*plantstorev1.Plant, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout) // The server keeps it, too.
	defer cancel()
	response, err := client.CreatePlant(ctx, &plantstorev1.CreatePlantRequest{Plant: plant})
	return response.GetPlant(), err
}

func mayPass(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}
