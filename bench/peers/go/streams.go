package main

import (
	"bytes"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The method of bench/stream.ts, registered as generated code does.
var streamService = grpc.ServiceDesc{
	ServiceName: "bench.v1.StreamService",
	HandlerType: (*any)(nil),
	Streams:     []grpc.StreamDesc{{StreamName: "Watch", Handler: watch, ServerStreams: true}},
}

func watch(_ any, stream grpc.ServerStream) error {
	if err := stream.RecvMsg(&emptypb.Empty{}); err != nil {
		return err
	}
	message := wrapperspb.Bytes(bytes.Repeat([]byte("x"), 1024))
	for {
		if err := stream.SendMsg(message); err != nil {
			return err
		}
	}
}

func runStreams(_, _ string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	server.RegisterService(&streamService, struct{}{})
	fmt.Printf("listens on http://%s\n", listener.Addr())
	return server.Serve(listener)
}
