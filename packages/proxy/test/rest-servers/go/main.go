// REST by grpc-gateway, and by vanguard, in front of one gRPC server, whose port is the argument.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"

	"connectrpc.com/vanguard"
	v1 "example.com/rest/gen/library/v1"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func gateway(target string) http.Handler {
	mux := runtime.NewServeMux()
	dial := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	must(0, v1.RegisterCatalogServiceHandlerFromEndpoint(context.Background(), mux, target, dial))
	return mux
}

func transcoder(target string) http.Handler {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	proxy := httputil.NewSingleHostReverseProxy(must(url.Parse("http://" + target)))
	proxy.Transport = &http.Transport{Protocols: protocols}
	proxy.FlushInterval = -1
	service := v1.File_library_v1_catalog_proto.Services().ByName("CatalogService")
	options := []vanguard.ServiceOption{
		vanguard.WithTargetProtocols(vanguard.ProtocolGRPC),
		vanguard.WithTargetCodecs(vanguard.CodecProto),
	}
	return must(vanguard.NewTranscoder([]*vanguard.Service{
		vanguard.NewServiceWithSchema(service, proxy, options...),
	}))
}

func serve(handler http.Handler) {
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	fmt.Printf("listening on %d\n", listener.Addr().(*net.TCPAddr).Port)
	must(0, http.Serve(listener, handler))
}

func main() {
	target := "127.0.0.1:" + os.Args[2]
	switch os.Args[1] {
	case "grpc-gateway":
		serve(gateway(target))
	case "vanguard":
		serve(transcoder(target))
	}
}
