/**
 * A protoc plugin that writes `openapi.json`: one document for all services of
 * the files that are generated, but for those without a rule for HTTP. Options:
 * `title`, `version`, `license`, `error=MESSAGE` (default google.rpc.Status),
 * `error_status` (default `default`), `bearer`, `int64=string|number`.
 */
import { create, createFileRegistry } from "@bufbuild/protobuf";
import {
  CodeGeneratorResponse_Feature,
  CodeGeneratorResponseSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { getComments, runNodeJs } from "@bufbuild/protoplugin";
import { StatusSchema } from "../packages/gateway/gen/google/rpc/status_pb.ts";
import {
  createOpenApiDocument,
  type OpenApiOptions,
} from "../packages/gateway/src/openapi/document.ts";
import { bindingsOf } from "../packages/gateway/src/rest/rule.ts";

runNodeJs({
  name: "protoc-gen-openapi",
  version: "v1.0.0",
  run(request) {
    const registry = createFileRegistry(
      create(FileDescriptorSetSchema, { file: request.protoFile }),
    );
    const services = request.fileToGenerate
      .flatMap((name) => registry.getFile(name)?.services ?? [])
      .filter(({ methods }) => methods.some((method) => bindingsOf(method).length > 0));
    const supportedFeatures = BigInt(CodeGeneratorResponse_Feature.PROTO3_OPTIONAL);
    if (services.length === 0) return create(CodeGeneratorResponseSchema, { supportedFeatures });
    const parameters = new URLSearchParams(request.parameter.replaceAll(",", "&"));
    const error = parameters.get("error");
    const message = error === null ? StatusSchema : registry.getMessage(error);
    if (message === undefined) throw new Error(`no message ${error}`);
    const document = createOpenApiDocument(services, {
      title: parameters.get("title") ?? "",
      version: parameters.get("version") ?? "",
      license: parameters.get("license") ?? "",
      bearer: parameters.has("bearer"),
      int64: parameters.get("int64") === "number" ? "number" : "string",
      error: { message, status: parameters.get("error_status") ?? "default" },
      describe: commentOf,
    });
    const content = `${JSON.stringify(document, null, 2)}\n`;
    return create(CodeGeneratorResponseSchema, {
      supportedFeatures,
      file: [{ name: "openapi.json", content }],
    });
  },
});

/** The comment in front of an element: its lines joined, its paragraphs kept. */
function commentOf(desc: Parameters<OpenApiOptions["describe"]>[0]): string {
  const text = getComments(desc).leading ?? "";
  const lines = text.split("\n").map((line) => line.replace(/^ /, ""));
  return lines
    .join("\n")
    .trim()
    .replaceAll(/(?<!\n)\n(?!\n)/g, " ");
}
