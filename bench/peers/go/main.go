// CreatePlant by grpc-go, and REST by grpc-gateway, durable in SQLite before the answer. The two listen on two
// ports, and the gateway calls the server over loopback: the setup that grpc-gateway documents.
//
// `peer DATABASE grpc|rest` announces the port of one of them. The token is in `PEER_TOKEN`.
// `peer - streams` sends messages of 1 KiB without end.
// `peer - grpc` stores nothing.
// `peer ADDRESS gateway` is grpc-gateway alone, before a server at that address; `peer ADDRESS vanguard` is vanguard-go.
package main

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "example.com/plant-store-peer/gen/plantstore/v1"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: peer DATABASE grpc|rest, peer ADDRESS gateway|vanguard, peer - streams")
	}
	serve := run
	switch os.Args[2] {
	case "gateway":
		serve = runGateway
	case "vanguard":
		serve = runVanguard
	case "streams":
		serve = runStreams
	}
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(path, announced string) error {
	store, err := openStore(path)
	if err != nil {
		return err
	}
	grpcListener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	restListener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(requireToken("Bearer " + os.Getenv("PEER_TOKEN"))))
	pb.RegisterPlantServiceServer(server, &service{store: store})
	gateway, err := newGateway(grpcListener.Addr().String())
	if err != nil {
		return err
	}
	failed := make(chan error)
	go func() { failed <- server.Serve(grpcListener) }()
	go func() { failed <- http.Serve(restListener, gateway) }()
	listeners := map[string]net.Listener{"grpc": grpcListener, "rest": restListener}
	listener, known := listeners[announced]
	if !known {
		return fmt.Errorf("there is no port for %q; use grpc or rest", announced)
	}
	fmt.Printf("listens on http://%s\n", listener.Addr())
	return <-failed
}

func runGateway(address, _ string) error {
	gateway, err := newGateway(address)
	if err != nil {
		return err
	}
	return serveFront(gateway)
}

func serveFront(handler http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("listens on http://%s\n", listener.Addr())
	return http.Serve(listener, handler)
}

func newGateway(address string) (*runtime.ServeMux, error) {
	gateway := runtime.NewServeMux(runtime.WithMarshalerOption(runtime.MIMEWildcard, &compactJSON{}))
	return gateway, pb.RegisterPlantServiceHandlerFromEndpoint(
		context.Background(), gateway, address,
		[]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())},
	)
}

// requireToken also applies to REST: the gateway forwards the header.
func requireToken(expected string) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		values := metadata.ValueFromIncomingContext(ctx, "authorization")
		if len(values) != 1 || subtle.ConstantTimeCompare([]byte(values[0]), []byte(expected)) != 1 {
			return nil, status.Error(codes.Unauthenticated, "a valid bearer token is required")
		}
		return next(ctx, request)
	}
}

type service struct {
	pb.UnimplementedPlantServiceServer
	store *store
}

func (s *service) CreatePlant(ctx context.Context, request *pb.CreatePlantRequest) (*pb.CreatePlantResponse, error) {
	plant := request.Plant
	switch {
	case plant == nil:
		return nil, status.Error(codes.InvalidArgument, "plant is required")
	case plant.Id == nil:
		return nil, status.Error(codes.InvalidArgument, "id is required")
	case plant.Name == nil:
		return nil, status.Error(codes.InvalidArgument, "name is required")
	case strings.ContainsRune(plant.GetName(), 0) || strings.ContainsRune(plant.GetTag(), 0):
		return nil, status.Error(codes.InvalidArgument, "text must not contain U+0000")
	}
	if err := s.store.create(ctx, row{id: *plant.Id, name: *plant.Name, tag: plant.Tag}); err != nil {
		return nil, err
	}
	return &pb.CreatePlantResponse{Plant: &pb.Plant{Name: plant.Name, Tag: plant.Tag}}, nil
}

// compactJSON removes the spaces that protojson adds in some builds only, because the bench compares bytes.
type compactJSON struct{ runtime.JSONPb }

func (c *compactJSON) Marshal(value any) ([]byte, error) {
	text, err := c.JSONPb.Marshal(value)
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	err = json.Compact(&compact, text)
	return compact.Bytes(), err
}
