/** A method without end, the same for every server: one request, and messages of 1 KiB. */

import { create, createFileRegistry, type DescMethod, toBinary } from "@bufbuild/protobuf";
import {
  type BytesValue,
  BytesValueSchema,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_empty,
  file_google_protobuf_wrappers,
} from "@bufbuild/protobuf/wkt";

const service = "bench.v1.StreamService";

export const streamPath = `/${service}/Watch`;

const dependencies = [file_google_protobuf_empty, file_google_protobuf_wrappers];

const empty = ".google.protobuf.Empty";
const bytes = ".google.protobuf.BytesValue";

/** Created without a compiler. */
const file = create(FileDescriptorProtoSchema, {
  name: "bench/v1/stream.proto",
  package: "bench.v1",
  syntax: "proto3",
  dependency: dependencies.map(({ proto }) => proto.name),
  service: [
    {
      name: "StreamService",
      method: [
        { name: "Watch", inputType: empty, outputType: bytes, serverStreaming: true },
        { name: "Take", inputType: bytes, outputType: empty, clientStreaming: true },
        { name: "Touch", inputType: empty, outputType: empty },
      ],
    },
  ],
});

const registry = createFileRegistry(
  file,
  (name) => dependencies.find(({ proto }) => proto.name === name)?.proto,
);

/** For proxies: a FileDescriptorSet. */
export function streamDescriptors(): Uint8Array {
  const set = create(FileDescriptorSetSchema, {
    file: [...dependencies.map(({ proto }) => proto), file],
  });
  return toBinary(FileDescriptorSetSchema, set);
}

const methods = registry.getService(service)?.methods ?? [];

export const watch: DescMethod = methods[0] as DescMethod;

export const message: BytesValue = create(BytesValueSchema, {
  value: new Uint8Array(1024).fill(120),
});

export function serialize(value: BytesValue): Buffer {
  return Buffer.from(toBinary(BytesValueSchema, value));
}

/** One message in its envelope. */
export const messageBytes: number = 5 + serialize(message).length;
