// Writes the descriptors of the interop service to a file, for the code that is generated from them.
package main

import (
	"os"

	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

func main() {
	set := &descriptorpb.FileDescriptorSet{}
	add(set, map[string]bool{}, grpc_testing.File_grpc_testing_test_proto)
	bytes, err := proto.Marshal(set)
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(os.Args[1], bytes, 0o600); err != nil {
		panic(err)
	}
}

// Imports come before the files that import them.
func add(set *descriptorpb.FileDescriptorSet, added map[string]bool, file protoreflect.FileDescriptor) {
	if added[file.Path()] {
		return
	}
	added[file.Path()] = true
	imports := file.Imports()
	for i := range imports.Len() {
		add(set, added, imports.Get(i).FileDescriptor)
	}
	set.File = append(set.File, protodesc.ToFileDescriptorProto(file))
}
