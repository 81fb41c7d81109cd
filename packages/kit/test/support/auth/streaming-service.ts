import { create, createFileRegistry } from "@bufbuild/protobuf";
import type { GenService } from "@bufbuild/protobuf/codegenv2";
import {
  EmptySchema,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_empty,
} from "@bufbuild/protobuf/wkt";

interface Method<Kind> {
  methodKind: Kind;
  input: typeof EmptySchema;
  output: typeof EmptySchema;
}

/** A service with a method of each kind, all from Empty to Empty. */
export type StreamingService = GenService<{
  unary: Method<"unary">;
  server: Method<"server_streaming">;
  client: Method<"client_streaming">;
  bidi: Method<"bidi_streaming">;
}>;

const typeName = "test.Streams";

/** Created without a compiler, because the generated code has only unary methods. */
export function createStreamingService(): StreamingService {
  const empty = `.${EmptySchema.typeName}`;
  const kinds: readonly [name: string, clientStreaming: boolean, serverStreaming: boolean][] = [
    ["Unary", false, false],
    ["Server", false, true],
    ["Client", true, false],
    ["Bidi", true, true],
  ];
  const method = kinds.map(([name, clientStreaming, serverStreaming]) => {
    return { name, inputType: empty, outputType: empty, clientStreaming, serverStreaming };
  });
  const file = create(FileDescriptorProtoSchema, {
    name: "test/streams.proto",
    package: "test",
    syntax: "proto3",
    dependency: ["google/protobuf/empty.proto"],
    service: [{ name: "Streams", method }],
  });
  const files = create(FileDescriptorSetSchema, {
    file: [file_google_protobuf_empty.proto, file],
  });
  const service = createFileRegistry(files).getService(typeName);
  if (service === undefined) throw new Error(`${typeName} was not built`);
  return service as StreamingService;
}
