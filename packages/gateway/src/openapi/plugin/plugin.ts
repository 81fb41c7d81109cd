/**
 * A protoc plugin that writes `openapi.json`: one document for all services of the generated files.
 * Its options are those of `createOpenApiDocument`. Text and booleans can be given as `key=value`
 * or `key`. All of them can be given in a JSON file, `config=FILE`, whose path is relative to the
 * compiler's working directory. `renderError=problem` stands for `renderProblem`.
 */
import {
  create,
  createFileRegistry,
  type DescMessage,
  type FileRegistry,
  fromBinary,
  fromJson,
  maximumEdition,
  minimumEdition,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type CodeGeneratorRequest,
  CodeGeneratorRequestSchema,
  CodeGeneratorResponse_Feature,
  CodeGeneratorResponseSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { HttpRuleSchema } from "../../../gen/google/api/http_pb.ts";
import { hasRule } from "../../rest/rule/rule.ts";
import { createOpenApiDocument } from "../document.ts";
import { parsePluginOptions } from "./plugin-options.ts";

const features =
  CodeGeneratorResponse_Feature.PROTO3_OPTIONAL | CodeGeneratorResponse_Feature.SUPPORTS_EDITIONS;

const support = { supportedFeatures: BigInt(features), minimumEdition, maximumEdition };

/**
 * Answers a `google.protobuf.compiler.CodeGeneratorRequest` with a response. The response contains
 * any error, for the compiler to report.
 *
 * @param readText Reads the file that `config` names.
 */
export function runPlugin(request: Uint8Array, readText: (path: string) => string): Uint8Array {
  return toBinary(CodeGeneratorResponseSchema, create(CodeGeneratorResponseSchema, respond()));

  function respond() {
    try {
      const content = generate(fromBinary(CodeGeneratorRequestSchema, request), readText);
      if (content === undefined) return support;
      return { ...support, file: [{ name: "openapi.json", content }] };
    } catch (reason) {
      return { ...support, error: reason instanceof Error ? reason.message : String(reason) };
    }
  }
}

/** Undefined if nothing is served over REST: the compiler may call once for each of its inputs. */
function generate(
  { protoFile: file, fileToGenerate, parameter }: CodeGeneratorRequest,
  readText: (path: string) => string,
): string | undefined {
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file }));
  const { error: name, rest, ...options } = parsePluginOptions(parameter, readText);
  const rules = (rest.rules ?? []).map((rule) => fromJson(HttpRuleSchema, rule));
  const services = fileToGenerate.flatMap((one) => registry.getFile(one)?.services ?? []);
  const methods = services.flatMap((service) => service.methods);
  // Streams in both directions are not for REST, whatever a rule says.
  const served = methods.filter(({ methodKind }) => methodKind !== "bidi_streaming");
  if (!served.some((method) => hasRule(method, { rules }))) return undefined;
  const document = createOpenApiDocument(services, {
    ...options,
    ...(name !== undefined && { error: messageOf(registry, name) }),
    rest: { ...rest, rules },
  });
  return `${JSON.stringify(document, null, 2)}\n`;
}

function messageOf(registry: FileRegistry, name: string): DescMessage {
  const message = registry.getMessage(name);
  if (message === undefined) throw new Error(`error: no message ${name}`);
  return message;
}
