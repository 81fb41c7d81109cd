/** grpc.reflection: what tools request so that they need no proto file. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import {
  create,
  createFileRegistry,
  type DescService,
  fromBinary,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import type {
  ServerReflectionRequestSchema,
  ServerReflectionResponse,
} from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import {
  addReflection,
  type ReflectionOptions,
  ServerReflection,
  ServerReflectionAlpha,
} from "../../src/reflection/index.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { LabelService } from "../gen/library/v1/label_pb.ts";
import { collect } from "../support/collect.ts";
import { grpcProtocol, openProtocols } from "../support/open-client.ts";
import { openTestService, type ServiceOptions } from "../support/test-service.ts";
import { useOpened } from "../support/use-opened.ts";
import { within } from "../support/within.ts";

type Question = NonNullable<
  MessageInitShape<typeof ServerReflectionRequestSchema>["messageRequest"]
>;
type Answer = ServerReflectionResponse["messageResponse"];

const symbol = (value: string): Question => ({ case: "fileContainingSymbol", value });
const extension = (extensionNumber: number): Question => ({
  case: "fileContainingExtension",
  value: { containingType: "google.protobuf.MethodOptions", extensionNumber },
});

const list: Question = { case: "listServices", value: "" };
const catalogFile = "library/v1/catalog.proto";
/** The limits on requests of a stream, and on streams. */
const requestsMax = 1000;
const streamsMax = 64;

const services = [
  "grpc.health.v1.Health",
  "grpc.reflection.v1.ServerReflection",
  "grpc.reflection.v1alpha.ServerReflection",
  "library.v1.CatalogService",
];

const alpha = ServerReflectionAlpha as unknown as typeof ServerReflection;

/** Sends requests on a stream, in order, and returns the answers. */
async function ask(url: string, questions: readonly Question[], open = grpcProtocol.open) {
  using reflection = open(ServerReflection, url);
  return await within("the answers", read(reflection.client.serverReflectionInfo(all(questions))));
}

async function* all(questions: readonly Question[]) {
  for (const messageRequest of questions) yield { host: "a", messageRequest };
}

async function read(answers: AsyncIterable<ServerReflectionResponse>): Promise<Answer[]> {
  return (await collect(answers)).map(({ messageResponse }) => messageResponse);
}

function filesOf(answer: Answer | undefined): FileDescriptorProto[] {
  if (answer?.case !== "fileDescriptorResponse") throw new Error(`no files: ${answer?.case}`);
  const { fileDescriptorProto } = answer.value;
  return fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
}

const server = useOpened(() => openTestService());

describe.each(openProtocols.filter(({ version }) => version === "2"))("over $name", ({ open }) => {
  test.each([
    ["v1", ServerReflection],
    ["v1alpha", alpha],
  ])("%s lists the services", async (_version, service) => {
    using reflection = open(service, server.origin);
    const answers = reflection.client.serverReflectionInfo(all([list]));
    for await (const { validHost, originalRequest, messageResponse } of answers) {
      expect(validHost).toBe("a");
      expect(originalRequest?.messageRequest.case).toBe("listServices");
      expect(messageResponse).toMatchObject({
        case: "listServicesResponse",
        value: { service: services.map((name) => ({ name })) },
      });
    }
    expect.assertions(3);
  });
});

const text = { type: Type.STRING, label: Label.OPTIONAL };

/** A file of one name, of which each upstream of a proxy has its own, and a type that it imports. */
function serviceOf(package_: string): DescService {
  const proto = (name: string, rest: MessageInitShape<typeof FileDescriptorProtoSchema>) =>
    create(FileDescriptorProtoSchema, { name, package: package_, syntax: "proto3", ...rest });
  const type = `.${package_}.Type`;
  const method = { name: "Call", inputType: type, outputType: type };
  const file = [
    proto("types.proto", {
      syntax: "proto2",
      messageType: [{ name: "Type", extensionRange: [{ start: 1, end: 10 }] }],
      extension: [3, 4].map((number) => ({ name: `of${number}`, number, extendee: type, ...text })),
    }),
    proto("google/own.proto", {}),
    proto(`${package_}.proto`, { package: "both", messageType: [{ name: "Both" }] }),
    proto("service.proto", {
      dependency: ["types.proto", "google/own.proto", `${package_}.proto`],
      service: [{ name: "Service", method: [method] }],
    }),
  ];
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file }));
  return registry.getService(`${package_}.Service`) as DescService;
}

test.each([ServerReflection, alpha])(
  "describes files of one name by $typeName",
  async (service) => {
    const described = ["one", "two", "one"].map(serviceOf);
    await using named = await openTestService({
      routes: (router) => addReflection(router, { services: described }),
    });
    using reflection = grpcProtocol.open(service, named.origin);
    const questions = ["one.Service", "two.Service.Call", "two.Type", "both.Both"].map(symbol);
    const answers = await read(reflection.client.serverReflectionInfo(all(questions)));
    const files = answers.flatMap(filesOf);
    expect(files.map((file) => [file.name, file.package, file.dependency])).toEqual([
      ["service.proto", "one", ["types.proto", "google/own.proto", "one.proto"]],
      ["types.proto", "one", []],
      ["google/own.proto", "one", []],
      ["one.proto", "both", []],
      ["service~2.proto", "two", ["types~2.proto", "google/own.proto", "two.proto"]],
      ["types~2.proto", "two", []],
      ["two.proto", "both", []],
      ["types~2.proto", "two", []],
      ["one.proto", "both", []],
    ]);
    const extended: Question = { case: "allExtensionNumbersOfType", value: "one.Type" };
    expect(await ask(named.origin, [extended])).toMatchObject([
      { value: { extensionNumber: [3, 4] } },
    ]);
  },
);

test.each<[question: Question, file: string]>([
  [{ case: "fileByFilename", value: catalogFile }, catalogFile],
  [{ case: "fileByFilename", value: "google/api/http.proto" }, "google/api/http.proto"],
  ...[
    "library.v1.CatalogService",
    "library.v1.CatalogService.CreateVolume",
    "library.v1.Volume.id",
  ].map((value): [Question, string] => [symbol(value), catalogFile]),
  [symbol("google.api.HttpRule.pattern"), "google/api/http.proto"],
  [symbol("grpc.health.v1.HealthCheckResponse.SERVING"), "grpc/health/v1/health.proto"],
  [extension(72295728), "google/api/annotations.proto"],
  // The types in the details of errors, which no file of a service imports.
  [symbol("google.rpc.BadRequest"), "google/rpc/error_details.proto"],
  [symbol("google.rpc.Status"), "google/rpc/status.proto"],
])("%j returns %s and its imports", async (question, file) => {
  const [answer] = await ask(server.origin, [question]);
  const files = filesOf(answer);
  expect(files[0]?.name).toBe(file);
  const names = new Set(files.map(({ name }) => name));
  expect(files.flatMap(({ dependency }) => dependency).filter((name) => !names.has(name))).toEqual(
    [],
  );
});

test.each([
  ["google.protobuf.MethodOptions", [72295728]],
  ["library.v1.Volume", []],
])("the extensions of %s are %j", async (value, extensionNumber) => {
  const [answer] = await ask(server.origin, [{ case: "allExtensionNumbersOfType", value }]);
  expect(answer).toMatchObject({
    case: "allExtensionNumbersResponse",
    value: { baseTypeName: value, extensionNumber },
  });
});

test.each<[question: Question, code: Code]>([
  [{ case: "fileByFilename", value: "catalog.proto" }, Code.NotFound],
  [symbol("library.v1.Nothing"), Code.NotFound],
  [symbol("toString"), Code.NotFound],
  [extension(1), Code.NotFound],
  [{ case: "allExtensionNumbersOfType", value: "a.B" }, Code.NotFound],
  [{ case: undefined }, Code.InvalidArgument],
])("%j returns error %i, and the stream continues", async (question, errorCode) => {
  expect(await ask(server.origin, [question, list])).toMatchObject([
    { case: "errorResponse", value: { errorCode, errorMessage: expect.stringMatching(/known/) } },
    { case: "listServicesResponse" },
  ]);
});

test("a stream gets an import once, and what it requests always", async () => {
  const catalog: Question = { case: "fileByFilename", value: catalogFile };
  const [first, second] = await ask(server.origin, [catalog, catalog]);
  expect(filesOf(first).length).toBeGreaterThan(3);
  expect(filesOf(second).map(({ name }) => name)).toEqual([catalogFile]);
});

test("the number of requests on a stream is limited", async () => {
  using reflection = grpcProtocol.open(ServerReflection, server.origin);
  const answers: unknown[] = [];
  const asked = async () => {
    const requests = all(Array(requestsMax + 1).fill(list));
    for await (const answer of reflection.client.serverReflectionInfo(requests)) {
      answers.push(answer);
    }
  };
  await expect(asked()).rejects.toMatchObject({ code: Code.ResourceExhausted });
  expect(answers).toHaveLength(requestsMax);
});

test("the number of open streams is limited, and one that ends makes room", async () => {
  using reflection = grpcProtocol.open(ServerReflection, server.origin);
  const end = Promise.withResolvers<void>();
  async function* kept() {
    yield* all([list]);
    await end.promise;
  }
  const streams = Array.from({ length: streamsMax }, () =>
    reflection.client.serverReflectionInfo(kept())[Symbol.asyncIterator](),
  );
  await within("an answer to each", Promise.all(streams.map((stream) => stream.next())));
  await expect(ask(server.origin, [list])).rejects.toMatchObject({ code: Code.ResourceExhausted });
  end.resolve();
  await within("their ends", Promise.all(streams.map((stream) => stream.next())));
  await expect.poll(() => ask(server.origin, [list]).catch(() => [])).toHaveLength(1);
});

test.each<[what: string, options: ServiceOptions, timeoutMs: number]>([
  ["at once", {}, 600_000],
  ["after its timeout without `draining`", { routes: (router) => addReflection(router) }, 100],
])("a drain ends a stream that its client keeps open %s", async (_what, options, timeoutMs) => {
  await using own = await openTestService(options);
  using reflection = grpcProtocol.open(ServerReflection, own.origin);
  const never = Promise.withResolvers<void>();
  async function* requests() {
    yield* all([list]);
    await never.promise;
  }
  const answers = reflection.client.serverReflectionInfo(requests())[Symbol.asyncIterator]();
  expect(await within("an answer", answers.next())).toMatchObject({ done: false });
  const ended = answers.next().catch((error: unknown) => ConnectError.from(error).code);
  await own.drain(timeoutMs);
  expect(await within("the end", ended)).toBe(Code.Unavailable);
  never.resolve();
});

test("all services of the router are described, unless some are named", async () => {
  const addOthers = (options?: ReflectionOptions) => (router: ConnectRouter) => {
    router.service(CatalogService, {});
    addReflection(router, options);
    router.service(LabelService, {});
  };
  const others = ["library.v1.CatalogService", "library.v1.LabelService"];
  const rows: [options: ReflectionOptions | undefined, names: readonly string[]][] = [
    [undefined, [...services.slice(1, 3), ...others]],
    [{ services: [FieldService] }, ["library.v1.FieldService"]],
  ];
  for (const [options, names] of rows) {
    await using own = await openTestService({ routes: addOthers(options) });
    expect(await ask(own.origin, [list])).toMatchObject([
      { value: { service: names.map((name) => ({ name })) } },
    ]);
  }
});

test("reflection uses the gate of the router, unless its handler has another", async () => {
  const requestGate = () => {
    throw new ConnectError("there is no token", Code.Unauthenticated);
  };
  const listBy = async (routes: (router: ConnectRouter) => void) => {
    await using own = await openTestService({ requestGate, routes });
    return await ask(own.origin, [list]);
  };
  const code = Code.Unauthenticated;
  await expect(listBy((router) => addReflection(router))).rejects.toMatchObject({ code });
  const open = { requestGate: () => {} };
  expect(await listBy((router) => addReflection(router, {}, open))).toHaveLength(1);
});

test("buf curl calls a method without a proto file", async () => {
  const data = '{"parent": "shelves/a", "volume": {"id": 1, "title": "Emma"}}';
  const url = `${server.origin}/library.v1.CatalogService/CreateVolume`;
  const grpc = ["curl", "--protocol", "grpc", "--http2-prior-knowledge"];
  const { stdout } = await promisify(execFile)("buf", [...grpc, "-d", data, url]);
  expect(JSON.parse(stdout)).toEqual({ name: "shelves/a/volumes/1", id: "1", title: "Emma" });
});
