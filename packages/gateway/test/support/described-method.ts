import {
  create,
  createFileRegistry,
  type DescFile,
  type DescMessage,
  type DescMethod,
  type MessageInitShape,
  setExtension,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, MethodOptionsSchema } from "@bufbuild/protobuf/wkt";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { type HttpRule, HttpRuleSchema } from "../../gen/google/api/http_pb.ts";

export type Rule = MessageInitShape<typeof HttpRuleSchema>;

export interface MethodDescription {
  readonly name: string;
  readonly input: DescMessage;
  readonly output: DescMessage;
  /** Its `google.api.http` option. */
  readonly rule?: Rule;
  readonly streams?: "requests" | "responses" | "both";
}

/**
 * The methods of a service `test.v1.Described`, created without a compiler, for rules that no proto
 * of a running service can have.
 */
export function describeMethods(methods: readonly MethodDescription[]): DescMethod[] {
  const files = new Map<string, DescFile>();
  for (const { input, output } of methods) {
    for (const { file } of [input, output]) files.set(`${file.name}.proto`, file);
  }
  const file = create(FileDescriptorProtoSchema, {
    name: "test/v1/described.proto",
    package: "test.v1",
    syntax: "proto3",
    dependency: [...files.keys()],
    service: [{ name: "Described", method: methods.map(methodProto) }],
  });
  const registry = createFileRegistry(file, (name) => files.get(name));
  return registry.getService("test.v1.Described")?.methods ?? [];
}

/** One such method, which answers with the type that it receives. */
export function describeMethod(
  input: DescMessage,
  rule: Rule | undefined,
  description: Partial<MethodDescription> = {},
): DescMethod {
  const own = { name: "Call", input, output: input, ...(rule && { rule }), ...description };
  const [method] = describeMethods([own]);
  if (method === undefined) throw new Error("the method was not built");
  return method;
}

function methodProto({ name, input, output, rule, streams }: MethodDescription) {
  const options = create(MethodOptionsSchema);
  if (rule !== undefined) setExtension(options, http, create(HttpRuleSchema, rule) as HttpRule);
  return {
    name,
    inputType: `.${input.typeName}`,
    outputType: `.${output.typeName}`,
    options,
    clientStreaming: streams === "requests" || streams === "both",
    serverStreaming: streams === "responses" || streams === "both",
  };
}
