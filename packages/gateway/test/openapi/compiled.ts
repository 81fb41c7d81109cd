/** The test protos from a compiler, including their comments. */
import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";
import { createFileRegistry, type FileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

const root = resolve(import.meta.dirname, "../../../..");

let registry: FileRegistry | undefined;

/** Compiled once for all tests of a worker. */
export function compiledProtos(): FileRegistry {
  registry ??= createFileRegistry(fromBinary(FileDescriptorSetSchema, build()));
  return registry;
}

export function compiledService(name: string) {
  const service = compiledProtos().getService(name);
  if (service === undefined) throw new Error(`no service ${name}`);
  return service;
}

function build(): Uint8Array {
  const config = ["--config", "packages/gateway/test/buf.workspace.yaml"];
  const paths = ["library", "openapi"].flatMap((path) => [
    "--path",
    `packages/gateway/test/proto/${path}`,
  ]);
  const output = ["--as-file-descriptor-set", "--output", "-#format=binpb"];
  return execFileSync(
    join(root, "node_modules/.bin/buf"),
    ["build", ...config, ...paths, ...output],
    { cwd: root },
  );
}
