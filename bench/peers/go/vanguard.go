package main

import (
	"net/http"
	"net/http/httputil"
	"net/url"

	"connectrpc.com/vanguard"

	pb "example.com/plant-store-peer/gen/plantstore/v1"
)

// runVanguard serves REST by vanguard-go before a gRPC server at address, over one connection of HTTP/2, as its
// example of a proxy does.
func runVanguard(address, _ string) error {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	upstream := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: address}) },
		Transport:     &http.Transport{Protocols: protocols},
		FlushInterval: -1,
	}
	service := vanguard.NewService(
		pb.PlantService_ServiceDesc.ServiceName, upstream,
		vanguard.WithTargetProtocols(vanguard.ProtocolGRPC), vanguard.WithTargetCodecs(vanguard.CodecProto),
	)
	transcoder, err := vanguard.NewTranscoder([]*vanguard.Service{service})
	if err != nil {
		return err
	}
	return serveFront(transcoder)
}
