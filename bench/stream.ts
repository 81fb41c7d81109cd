/** A method without end, the same for every server: one request, and messages of 1 KiB. */

import { create, createFileRegistry, type DescMethod, toBinary } from "@bufbuild/protobuf";
import {
  type BytesValue,
  BytesValueSchema,
  FileDescriptorProtoSchema,
  file_google_protobuf_empty,
  file_google_protobuf_wrappers,
} from "@bufbuild/protobuf/wkt";

export const streamPath = "/bench.v1.StreamService/Watch";

const dependencies = [file_google_protobuf_empty, file_google_protobuf_wrappers];

/** Created without a compiler. */
const registry = createFileRegistry(
  create(FileDescriptorProtoSchema, {
    name: "bench/v1/stream.proto",
    package: "bench.v1",
    syntax: "proto3",
    dependency: dependencies.map(({ proto }) => proto.name),
    service: [
      {
        name: "StreamService",
        method: [
          {
            name: "Watch",
            inputType: ".google.protobuf.Empty",
            outputType: ".google.protobuf.BytesValue",
            serverStreaming: true,
          },
        ],
      },
    ],
  }),
  (name) => dependencies.find(({ proto }) => proto.name === name)?.proto,
);

export const watch: DescMethod = registry.getService("bench.v1.StreamService")
  ?.methods[0] as DescMethod;

export const message: BytesValue = create(BytesValueSchema, {
  value: new Uint8Array(1024).fill(120),
});

export function serialize(value: BytesValue): Buffer {
  return Buffer.from(toBinary(BytesValueSchema, value));
}

/** One message in its envelope. */
export const messageBytes: number = 5 + serialize(message).length;
