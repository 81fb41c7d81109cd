package main

import (
	"io"
	"iter"

	"google.golang.org/grpc"
)

// received ranges over the messages of a client.
func received[In, Out any](stream grpc.ClientStreamingServer[In, Out]) iter.Seq2[*In, error] {
	return func(yield func(*In, error) bool) {
		for {
			in, err := stream.Recv()
			if err == io.EOF || !yield(in, err) || err != nil {
				return
			}
		}
	}
}
