/**
 * A protoc plugin that writes `openapi.json`: one document for all services of the generated files.
 * Its options are those of `createOpenApiDocument`. Text and booleans can be given as `key=value`
 * or `key`. All of them can be given in a JSON file, `config=FILE`, whose path is relative to the
 * compiler's working directory. `renderError=problem` stands for `renderProblem`.
 */
import {
  create,
  createFileRegistry,
  type DescMethod,
  fromBinary,
  fromJson,
  type JsonValue,
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
import { isJsonObject } from "../../codec/json-text.ts";
import { renderProblem } from "../../errors/http.ts";
import { type RestOptions, restKinds } from "../../rest/options.ts";
import { ruleOf } from "../../rest/rule/rule.ts";
import { assertOptions, type OptionKinds } from "../../rpc/options.ts";
import { createOpenApiDocument } from "../document.ts";
import { type OpenApiOptions, openApiKinds } from "../options.ts";

const features =
  CodeGeneratorResponse_Feature.PROTO3_OPTIONAL | CodeGeneratorResponse_Feature.SUPPORTS_EDITIONS;

const support = { supportedFeatures: BigInt(features), minimumEdition, maximumEdition };

/** Answers a request of the compiler, also with an error. @param readText Reads the file of `config`. */
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
  const isServed = (method: DescMethod) =>
    method.methodKind !== "bidi_streaming" && ruleOf(method, { rules }) !== undefined;
  if (!services.some(({ methods }) => methods.some(isServed))) return undefined;
  const error = name === undefined ? undefined : registry.getMessage(name);
  if (name !== error?.typeName) throw new Error(`error: no message ${name}`);
  const document = createOpenApiDocument(services, {
    ...options,
    ...(error !== undefined && { error }),
    rest: { ...rest, rules },
  });
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** The error renderer is a function there and a name here. */
const restOptions: OptionKinds = { ...restKinds, renderError: "one of problem" };

const options: OptionKinds = { config: "string", ...openApiKinds, error: "string", ...restOptions };

type Given = { [name: string]: JsonValue };

/** @param parameter `key=value` and `key`, before those of the file that `config` names. @throws {Error} */
function parsePluginOptions(
  parameter: string,
  readText: (path: string) => string,
): Omit<OpenApiOptions, "error" | "rest"> & {
  readonly error?: string;
  readonly rest: Omit<RestOptions, "rules"> & { readonly rules?: readonly JsonValue[] };
} {
  const given: Given = {};
  for (const pair of parameter.split(",").filter((one) => one !== "")) {
    const [name = "", ...values] = pair.split("=");
    const value = values.length === 0 ? "true" : values.join("=");
    const isFlag = options[name] === "boolean" && (value === "true" || value === "false");
    given[name] = isFlag ? value === "true" : value;
  }
  const { config, ...own } = given;
  const file = config === undefined ? {} : JSON.parse(readText(String(config)));
  if (!isJsonObject(file)) throw new Error(`config: ${config} must hold a JSON object`);
  const all: Given = { ...file, ...own };
  assertOptions("options", all, options);
  const pick = (isRest: boolean) =>
    Object.entries(all).filter(([name]) => Object.hasOwn(restOptions, name) === isRest);
  const { renderError, ...others } = Object.fromEntries(pick(true));
  const rest = renderError === undefined ? others : { ...others, renderError: renderProblem };
  return { ...Object.fromEntries(pick(false)), rest };
}
