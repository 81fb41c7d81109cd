/** What `createRestTransport` sends, and what it makes of the answers of servers, ours and others. */
import { readFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import {
  create,
  type DescMessage,
  type DescMethod,
  fromJson,
  type JsonObject,
  type Message,
} from "@bufbuild/protobuf";
import { EmptySchema, StructSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  type CallOptions,
  Code,
  ConnectError,
  createClient,
  type Interceptor,
} from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { BadRequestSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { gatewayFetchHandler } from "../../../src/fetch.ts";
import type { NodeHandler } from "../../../src/index.ts";
import { createRestTransport, type RestTransportOptions } from "../../../src/rest/client/index.ts";
import { createCatalog } from "../../catalog-server.ts";
import { failureOf } from "../../client/fake-server.ts";
import { CatalogService } from "../../gen/library/v1/catalog_pb.ts";
import { EveryFieldSchema } from "../../gen/library/v1/fields_pb.ts";
import { collect } from "../../support/collect.ts";
import { describeMethod, type Rule } from "../../support/described-method.ts";
import { openGateway, openHandler } from "../../support/gateway.ts";

const json = { "content-type": "application/json" };
const plain = { headers: json };
const typed = (type: string) => ({ headers: { "content-type": type } });
const volume = '{"name":"shelves/a/volumes/b","id":"9007199254740993","other":1}';
const id = 9007199254740993n;

/** Connect 2.2 does not tell a transport that nobody reads a stream on. */
const manifest = new URL("../../package.json", import.meta.resolve("@connectrpc/connect"));
const { version } = JSON.parse(readFileSync(manifest, "utf8"));
const tellsOfReaders = !version.startsWith("2.2.");

function clientOf(options: Partial<RestTransportOptions>) {
  const baseUrl = "https://api.example.com/base/";
  return createClient(CatalogService, createRestTransport({ baseUrl, ...options }));
}

/** A client of a server that always answers the same, and its last request. */
function answering(
  body: BodyInit | null,
  init: ResponseInit = { headers: json },
  options: Partial<RestTransportOptions> = {},
) {
  const sent = { url: "", method: "", headers: new Headers(), body: undefined as unknown };
  const client = clientOf({
    ...options,
    fetch: async (url, request) => {
      Object.assign(sent, request, { url: String(url) });
      return new Response(body, init);
    },
  });
  return { sent, client };
}

/** The ids of a stream, and how it ended. */
async function watched(body: BodyInit | null, init?: ResponseInit) {
  const ids: bigint[] = [];
  try {
    const { client } = answering(body, init);
    for await (const { id } of client.watchVolumes({ parent: "shelves/a" })) ids.push(id);
  } catch (error) {
    return { ids, error: ConnectError.from(error) };
  }
  return { ids, error: undefined };
}

/** A client of one method of our own gateway. */
function ownClient({ parent }: DescMethod, call: unknown) {
  const handler = gatewayFetchHandler({ routes: (to) => to.service(parent, { call } as never) });
  const fetch: typeof globalThis.fetch = (url, init) => handler(new Request(url, init));
  const options = { baseUrl: "http://localhost", clientStreams: true, fetch };
  return createClient(parent, createRestTransport(options)) as unknown as {
    call(given: unknown, options?: CallOptions): AsyncIterable<Message> & Promise<Message>;
  };
}

/** A small body that becomes much. */
const many = `{"x":[${"0,".repeat(3e5)}0]}`;

describe("requests", () => {
  test("path, query and body are those of the rule", async () => {
    const { client, sent } = answering(volume);
    await client.createVolume(
      { parent: "shelves/a b", volume: { id, title: "x" }, validateOnly: true },
      { headers: { authorization: "Bearer t" }, timeoutMs: 1e9 },
    );
    expect(sent).toMatchObject({
      method: "POST",
      url: "https://api.example.com/base/v1/shelves/a%20b/volumes?validateOnly=true",
      body: '{"id":"9007199254740993","title":"x"}',
    });
    expect(Object.fromEntries(sent.headers)).toEqual({
      ...{ accept: "application/json", ...json, authorization: "Bearer t" },
      ...{ "connect-timeout-ms": "1000000000", "grpc-timeout": "99999999m" },
    });
  });

  test("the binding is the first whose variables are set and match", async () => {
    const { client, sent } = answering(volume);
    const targetOf = async (call: Promise<unknown>) => (await call) && sent.url.slice(28);
    expect(await targetOf(client.getVolume({ id: 7n }))).toBe("/v1/volumes/7");
    expect(await targetOf(client.getVolume({ name: "shelves/a/volumes/b", id: 7n }))).toBe(
      "/v1/shelves/a/volumes/b?id=7",
    );
    expect(await targetOf(client.readFile({ path: "a/b c%2F" }))).toBe("/v1/files/a/b%20c%252F");
    const error = await failureOf(client.deleteVolume({ name: "shelves/a/volumes/b/c" }));
    expect(error.code).toBe(Code.InvalidArgument);
    expect(error.message).toContain("name must be set, and match /v1/{name=shelves/*/volumes/*}");
    const named = await failureOf(client.getVolume({ name: "b" })); // not volume 0
    expect(named.message).toContain("name must be set, and match /v1/{name=shelves/*/volumes/*}");
    expect((await failureOf(client.getVolume({}))).message).toContain("id must be set");
    const name = "shelves/a/volumes/b";
    const upload = (content: object) => client.uploadVolume({ name, content });
    for (const [call, message] of [
      [client.readFile({ path: "a/../b" }), "must not be . or .."],
      [client.readFile({ path: "." }), "must not be . or .."],
      [client.deleteVolume({ name: "" }), "name must be set"],
      [client.deleteVolume({ name: "shelves//volumes/b" }), "name must be set, and match"],
      [upload({ contentType: "text/plain\r\nx-admin: 1" }), "contentType must be"],
      [client.uploadVolume({ name }), "content must be set: it is the body"],
      [upload({ extensions: [{}] }), "extensions have no place in a body"],
    ] as const) {
      const error = await failureOf(call);
      expect(error.code).toBe(Code.InvalidArgument);
      expect(error.message).toContain(message);
    }
    const hostile = "shelves/a/volumes/%2e%2e\\\r\nhost: b?c#d;e";
    expect(await targetOf(client.deleteVolume({ name: hostile }))).toBe(
      "/v1/shelves/a/volumes/%252e%252e%5C%0D%0Ahost%3A%20b%3Fc%23d%3Be",
    );
  });

  test("rules and JSON of the options", async () => {
    const selector = "library.v1.CatalogService.MoveVolume";
    const rules = [
      { selector, pattern: { case: "put", value: "/move/{to}" }, body: "*" } as const,
      { selector: "library.v1.CatalogService.CreateVolume" },
      {
        selector: "library.v1.CatalogService.DeleteVolume",
        pattern: { case: "get", value: "/v1/files/all" },
      } as const,
    ];
    const targets: string[] = [];
    const client = clientOf({
      rules,
      int64: "number",
      jsonOptions: { useProtoFieldName: true },
      fetch: async (url, request) => {
        targets.push(`${url} ${request?.body}`);
        return Response.json({});
      },
    });
    await client.moveVolume({ name: "a", to: "b/c" });
    await client.listVolumes({ parent: "shelves/a", pageSize: 2, titles: ["a+b", "ü"] });
    const name = "shelves/a/volumes/b";
    for (const volume of [{ name, id }, { name }]) await client.updateVolume({ volume });
    expect(targets).toEqual([
      'https://api.example.com/base/move/b%2Fc {"name":"a"}',
      "https://api.example.com/base/v1/shelves/a/volumes?page_size=2&titles=a%2Bb&titles=%C3%BC null",
      'https://api.example.com/base/v1/shelves/a/volumes/b {"id":9007199254740993}',
      "https://api.example.com/base/v1/shelves/a/volumes/b {}",
    ]);
    const taken = await failureOf(client.readFile({ path: "all" }));
    expect(taken.message).toContain("cannot be sent to /v1/files/all: that is a path of another");
    const error = await failureOf(client.createVolume({}));
    expect(error.code).toBe(Code.Unimplemented);
    expect(error.message).toContain("CreateVolume: it has no google.api.http rule");
  });

  const nested = { child: { string: "a", child: { int64: 1n } }, stringByString: {} };
  test.each([
    ["/x/{int64}/{bool}/{genre}", {}, "/x/0/false/0"],
    ["/x/{child.int64}", { child: { int64: 0n } }, "/x/0"],
    ["/x/{int64}", nested, "/x/0?child.string=a&child.child.int64=1"],
    ["/x/{child.string}", nested, "/x/a?child.child.int64=1"],
  ])("by the rule %s, of %o: %s", async (value, message, target) => {
    const { parent } = describeMethod(EveryFieldSchema, { pattern: { case: "get", value } });
    const sent: unknown[] = [];
    const fetch = async (url: unknown) => {
      sent.push(url);
      return Response.json({});
    };
    const client = createClient(parent, createRestTransport({ baseUrl: "http://a", fetch }));
    await (client as unknown as ReturnType<typeof ownClient>).call(message);
    expect(sent).toEqual([`http://a${target}`]);
  });

  test.each([
    [{ baseUrl: "api.example.com" }, "baseUrl must be a URL"],
    [{ baseUrl: "https://a", readMaxByte: 1 }, "readMaxByte is no option"],
  ])("options that are wrong: %o", (options, message) => {
    expect(() => createRestTransport(options)).toThrow(message);
  });
});

describe("answers", () => {
  test.each([
    ["application/json", volume],
    ["application/vnd.api+json; charset=utf-8", volume],
    ["", volume],
    ["text/plain; charset=utf-8", volume],
    ["text/html", volume],
    ["application/json", volume.replace(/"(\d+)"/, "$1")],
  ])("%s: %s", async (type, body) => {
    const { client } = answering(new Blob([body]), type ? typed(type) : {});
    expect((await client.getVolume({ id })).id).toBe(id);
  });

  test.each([
    [204, {}],
    [200, { "content-length": "0" }],
  ])("status %i without a body is the empty message", async (status, headers) => {
    const { client } = answering(null, { status, headers });
    expect((await client.getVolume({ id })).id).toBe(0n);
  });

  test.each([null, "null", "true", "{}", "OK"])("%s is a message without fields", async (body) => {
    const init = body === "OK" ? typed("text/plain") : plain;
    const { client } = answering(body, init);
    const deleted = await client.deleteVolume({ name: "shelves/a/volumes/b" });
    expect(deleted.$typeName).toBe("google.protobuf.Empty");
  });

  test("headers and trailers, as Connect does", async () => {
    const { client } = answering(volume, { headers: { ...json, "x-a": "1", "trailer-x-b": "2" } });
    const seen = { header: "", trailer: "" };
    await client.getVolume(
      { id },
      {
        onHeader: (header) => Object.assign(seen, { header: header.get("x-a") }),
        onTrailer: (trailer) => Object.assign(seen, { trailer: trailer.get("x-b") }),
      },
    );
    expect(seen).toEqual({ header: "1", trailer: "2" });
  });

  test.each<[what: string, body: BodyInit | null, init: ResponseInit, code: Code, text: string]>([
    ["HTML", "<html>", typed("text/html"), Code.Unknown, "not JSON"],
    ["a text", "OK", typed("text/plain"), Code.Unknown, "not JSON"],
    ["records", "\u001e{}", typed("application/json-seq"), Code.Unknown, "not JSON"],
    ["a wrong value", '{"id":"1.5"}', typed("text/html"), Code.Internal, "id must be a 64-bit"],
    ["too much", `{"title":"${"x".repeat(5e6)}"}`, plain, Code.ResourceExhausted, "4194304"],
    ["too many values", many, plain, Code.Internal, "has more than 262144 values"],
  ])("%s is an error", async (_what, body, init, code, text) => {
    const error = await failureOf(answering(body, init).client.getVolume({ id }));
    expect(error.code).toBe(code);
    expect(error.message).toContain(text);
  });
});

const violation = {
  "@type": "type.googleapis.com/google.rpc.BadRequest",
  fieldViolations: [{ field: "id", description: "must be odd" }],
};

describe("errors", () => {
  test.each<[status: number, body: unknown, code: Code, text: string, headers?: HeadersInit]>([
    [400, "", Code.FailedPrecondition, "é%", { "grpc-status": "9", "grpc-message": "%C3%A9%25" }],
    [400, { "grpc-code": "FAILED_PRECONDITION", message: "m" }, 9, "m", { "grpc-status": "9" }],
    [500, "m", Code.FailedPrecondition, "HTTP 500: m", { "grpc-status": "9" }],
    [404, { error: { code: 404, message: "m" } }, 9, "m", { "grpc-status": "9" }],
    [400, { code: 9, message: "m" }, Code.FailedPrecondition, "m"],
    [404, { code: 13, message: "m" }, Code.NotFound, "m"],
    [403, { error: { code: 403, message: "m", status: "ABORTED", errors: [1] } }, 10, "m"],
    [500, [{ error: { code: 499, message: "m", status: "CANCELLED" } }], Code.Canceled, "m"],
    [404, { code: "unimplemented", msg: "m", meta: { a: "b" } }, Code.Unimplemented, "m"],
    [409, { type: "about:blank", title: "t", status: 409, detail: "m", errors: [] }, 10, "m"],
    [400, { error: 6, message: "m" }, Code.AlreadyExists, "m"],
    [422, { detail: ["a"] }, Code.InvalidArgument, 'HTTP 422: {"detail":["a"]}'],
    [500, { error: "m" }, Code.Internal, "m"],
    [401, { error: "invalid_token", error_description: "m" }, Code.Unauthenticated, "m"],
    [409, { error: "e", message: ["m"] }, Code.Aborted, 'HTTP 409: {"error":"e","message":["m"]}'],
    [400, '{"detail":"d","errors":["m"]}', 3, 'HTTP 400: {"detail":"d","errors":["m"]}'],
    [404, '{"message":"m","_embedded":[1]}', 5, 'HTTP 404: {"message":"m","_embedded":[1]}'],
    [409, { title: "t", a: { b: 1 } }, Code.Aborted, 'HTTP 409: {"title":"t","a":{"b":1}}'],
    [404, '{"title":"m","details":{},"id":9007199254740993}', Code.NotFound, "m"],
    [503, "", Code.Unavailable, "HTTP 503"],
    [418, "teapot", Code.FailedPrecondition, "HTTP 418: teapot"],
  ])("%i with %j", async (status, body, code, text, headers = {}) => {
    const sent = typeof body === "string" ? body : JSON.stringify(body);
    const error = await failureOf(answering(sent, { status, headers }).client.getVolume({ id }));
    expect([error.code, error.rawMessage, error.isWireError]).toEqual([code, text, true]);
  });

  test("details, also of types that are not known, and headers", async () => {
    const unknown = { "@type": "type.googleapis.com/a.B", value: "AQI=" };
    const body = { code: 3, message: "m", details: [violation, unknown, { "@type": "a.C" }, 1] };
    const headers = { "x-a": "1", "trailer-x-b": "2" };
    const { client } = answering(JSON.stringify(body), { status: 400, headers });
    const error = await failureOf(client.getVolume({ id }));
    const [found] = error.findDetails(BadRequestSchema);
    expect(found?.fieldViolations[0]?.description).toBe("must be odd");
    expect(error.details[1]).toEqual({ type: "a.B", value: Uint8Array.of(1, 2) });
    expect([error.metadata.get("x-a"), error.metadata.get("x-b")]).toEqual(["1", "2"]);
  });

  test("a page of a proxy is kept, cut to 4 KiB", async () => {
    const page = `<html>${"é".repeat(5000)}`;
    const init = { status: 502, headers: { "content-type": "text/html" } };
    const error = await failureOf(answering(page, init).client.getVolume({ id }));
    expect(error.code).toBe(Code.Unavailable);
    expect(error.rawMessage).toMatch(/^HTTP 502: <html>é+$/);
    expect(Buffer.byteLength(error.rawMessage)).toBeLessThan(4120);
  });
});

describe("streams", () => {
  const lines = { headers: { "content-type": "application/x-ndjson" } };
  const events = { headers: { "content-type": "text/event-stream; charset=utf-8" } };
  const gateway = { headers: { ...json, "grpc-metadata-content-type": "application/grpc" } };
  const wrong = '{"error":{"code":5,"message":"gone"}}';
  const two = 'data: {"id":"1"}\n\ndata: {"id":2}\n\n';

  test.each<[what: string, body: string, init: ResponseInit, code?: Code]>([
    ["NDJSON", '{"id":"1"}\n\n{"id":2}\r\n', lines],
    ["NDJSON without a last line feed", '{"id":"1"}\n{"id":2}', lines],
    ["NDJSON as plain text", '{"id":"1"}\n{"id":2}\n', typed("text/plain; charset=utf-8")],
    ["a JSON array", ' [{"id":"1"},\n{"id":2}]', { headers: json }],
    ["messages of grpc-gateway", '{"result":{"id":"1"}}\n{"result":{"id":2}}\n', gateway],
    ["results without its header", '{"result":{"id":"1"}}\n{"result":{"id":2}}\n', plain],
    [
      "events",
      ':\n\nevent: a\nid: 1\ndata: {"id":\r\ndata:"1"}\n\ndata: {"id":2}\n\nevent: end\ndata: null\n\ndata',
      events,
    ],
    [
      "events in envelopes, and an error",
      `data: {"result":{"id":1}}\n\ndata: {"result":{"id":2}}\n\ndata: ${wrong}\n\n`,
      events,
      Code.NotFound,
    ],
    ["events without names", '{"result":{"id":1}}\n\n{"result":{"id":2}}\n\n', events],
    ["a large event", `data: {"id":1}\n\ndata: {"id":2${" ".repeat(2 ** 22 - 8)}}\n\n`, events],
    ["an error in NDJSON", `{"id":"1"}\n{"id":2}\n${wrong}\n`, lines, Code.NotFound],
    ["an error in an array", `[{"id":"1"},{"id":2},${wrong}]`, plain, Code.NotFound],
    [
      "an error event",
      `${two}event: error\ndata: {"code":5,"message":"gone"}\n\n`,
      events,
      Code.NotFound,
    ],
    ["NDJSON, cut", '{"id":"1"}\n{"id":2}\n{"id":', lines, Code.Internal],
    ["an array, cut", '[{"id":"1"},{"id":2},', plain, Code.Internal],
    ["an end with a message", 'data: {"id":"1"}\n\nevent: end\ndata: {"id":2}\n\n', events],
    ["an error event that says so", `${two}event: error\ndata: [DONE]\n\n`, events, Code.Internal],
    ["the end of a model", 'data: {"id":1}\n\ndata: {"id":2}\n\ndata: [DONE]\n\n', events],
    ["cut events", 'data: {"id":"1"}\n\ndata: {"id":2}\n\ndata: {"id":3}\n', events, Code.Internal],
    ["a cut name", 'data: {"id":"1"}\n\ndata: {"id":2}\n\n:\nda', events, Code.Internal],
    ["a cut id", 'data: {"id":"1"}\n\ndata: {"id":2}\n\nid: 3\n:\n', events, Code.Internal],
    ["a cut comment", 'data: {"id":"1"}\n\ndata: {"id":2}\n\n: keep-al', events],
    [
      "a long line",
      `{"id":"1"}\n{"id":2}\n{"title":"${"x".repeat(5e6)}"}\n`,
      lines,
      Code.ResourceExhausted,
    ],
    ["a line of too many values", `{"id":"1"}\n{"id":2}\n${many}\n`, lines, Code.Internal],
    ["a long event", two + `data: ${"x".repeat(1e6)}\n`.repeat(5), events, Code.ResourceExhausted],
  ])("%s", async (_what, body, init, code) => {
    const { ids, error } = await watched(body, init);
    expect(error?.code).toBe(code);
    expect(ids).toEqual([1n, 2n]);
    if (code === Code.NotFound) expect(error?.rawMessage).toBe("gone");
  });

  test.each<[type: string, output: DescMessage, json: JsonObject, responseBody?: string]>([
    ["text/event-stream", ValueSchema, { result: 1 }],
    ["text/event-stream", StructSchema, { error: { code: 5 } }],
    ["application/json", StructSchema, { result: {} }],
    ["application/json", EveryFieldSchema, { childByString: { result: {} } }, "child_by_string"],
  ])("%s of %s that is %j has no envelope", async (accept, output, json, responseBody = "") => {
    const rule: Rule = { pattern: { case: "get", value: "/x" }, responseBody };
    const method = describeMethod(EmptySchema, rule, { output, streams: "responses" });
    const message = fromJson(output, json);
    const client = ownClient(method, async function* () {
      yield message;
    });
    expect(await collect(client.call({}, { headers: { accept } }))).toEqual([message]);
  });

  test("a field that is new in a later event is no envelope", async () => {
    const body = 'data: {"id":1}\n\ndata: {"error":{}}\n\ndata: {"result":{"id":2}}\n\n';
    expect(await watched(body, events)).toEqual({ ids: [1n, 0n, 0n], error: undefined });
  });

  test.each(["", "[]"])("%j has no messages", async (body) => {
    expect(await watched(body)).toEqual({ ids: [], error: undefined });
  });
});

/** A server of the catalog, ours, on Node. */
const catalog = () =>
  openGateway({ routes: (router) => void router.service(CatalogService, createCatalog()) });

test("every kind of call to our own server", async () => {
  await using server = await catalog();
  const client = clientOf({ baseUrl: server.origin("1.1"), clientStreams: true });
  const rpc = createClient(
    CatalogService,
    createConnectTransport({ baseUrl: server.origin("1.1"), httpVersion: "1.1" }),
  );
  const parent = "shelves/a";
  async function* volumes(names: readonly string[]) {
    for (const [i, one] of names.entries()) yield { parent: one, volume: { id: BigInt(i) } };
  }
  expect(await client.importVolumes(volumes([parent, parent, parent]))).toMatchObject({
    count: 3n,
  });
  const mixed = await failureOf(client.importVolumes(volumes([parent, "shelves/b"])));
  expect(mixed.code).toBe(Code.InvalidArgument);
  expect(mixed.message).toContain("same in path and query");
  const found = await collect(client.watchVolumes({ parent }));
  expect(found).toEqual(await collect(rpc.watchVolumes({ parent })));
  expect(found.length).toBe(3);
  const name = "shelves/a/volumes/1";
  const data = crypto.getRandomValues(new Uint8Array(5000));
  const content = { contentType: "image/png", data };
  await client.uploadVolume({ name, content });
  expect(await client.downloadVolume({ name })).toMatchObject(content);
  const pieces = await collect(client.streamVolume({ name }));
  expect(Buffer.concat(pieces.map((piece) => piece.data))).toEqual(Buffer.from(data));
  const lost = await failureOf(client.getVolume({ id: 77n }));
  expect([lost.code, lost.rawMessage]).toEqual([Code.NotFound, "there is no volume 77"]);
});

test.each([
  ["value", "value must be set"],
  ["choice_null", "choiceNull must be set"],
  ["child", undefined],
])("the line of a message whose body is not set: %s", async (body, failure) => {
  const rule: Rule = { pattern: { case: "post", value: "/x" }, body };
  const method = describeMethod(EveryFieldSchema, rule, { streams: "requests" });
  const client = ownClient(method, async (all: AsyncIterable<Message>) => {
    for await (const one of all) return one;
    return undefined;
  });
  async function* messages() {
    yield {};
  }
  if (failure === undefined) expect(await client.call(messages())).toEqual(create(method.input));
  else expect((await failureOf(client.call(messages()))).message).toContain(failure);
});

test("client streams need an option, and streams both ways have no form", async () => {
  const { client } = answering(volume);
  const error = await failureOf(client.importVolumes((async function* () {})()));
  expect(error.code).toBe(Code.Unimplemented);
  expect(error.message).toContain("client streams need the option clientStreams");
});

describe("faults of the way", () => {
  /** A server that answers as a function does. */
  async function open(answer: RequestListener) {
    const server = await openHandler(answer as NodeHandler);
    return { ...server, client: clientOf({ baseUrl: server.origin("1.1") }) };
  }

  const head = { ...json, "content-length": 1000 };

  test.each<[what: string, answer: RequestListener, ids: bigint[], code?: Code]>([
    ["a connection that closes", (request) => void request.socket.destroy(), []],
    [
      "what is no gzip",
      (_, response) => response.writeHead(200, { ...json, "content-encoding": "gzip" }).end("[1"),
      [],
      Code.Internal,
    ],
    [
      "a body that is cut",
      (_, response) => void response.writeHead(200, head).write("[1", () => response.destroy()),
      [],
    ],
    [
      "chunks that are cut",
      (_, response) =>
        void response.writeHead(200, json).write('{"id":1}\n', () => response.destroy()),
      [1n],
    ],
  ])("%s", async (_what, answer, ids, code = Code.Unavailable) => {
    await using server = await open(answer);
    const { client } = server;
    expect((await failureOf(client.getVolume({ id }))).code).toBe(code);
    const got: bigint[] = [];
    const stream = async () => {
      for await (const one of client.watchVolumes({ parent: "shelves/a" })) got.push(one.id);
    };
    expect((await failureOf(stream())).code).toBe(code);
    expect(got).toEqual(ids);
  });

  test("nobody listens", async () => {
    const { client, port, [Symbol.asyncDispose]: close } = await open(() => {});
    await close();
    const error = await failureOf(client.getVolume({ id }));
    expect(error.code).toBe(Code.Unavailable);
    expect(error.message).not.toContain(`${port}`);
  });

  test.each(["a head", "a body"])("%s that takes longer than the deadline", async (what) => {
    const { promise: isClosed, resolve } = Promise.withResolvers<void>();
    await using server = await open((_request, response) => {
      response.on("close", resolve);
      if (what === "a body") response.writeHead(200, head).write("{");
    });
    const error = await failureOf(server.client.getVolume({ id }, { timeoutMs: 100 }));
    expect(error.code).toBe(Code.DeadlineExceeded);
    await isClosed;
  });

  test("a GET follows redirects; a POST does not, as it might become a GET", async () => {
    let calls = 0;
    await using server = await open((request, response) => {
      calls++;
      if (request.url === "/new") response.writeHead(200, json).end(volume);
      else response.writeHead(302, { location: "/new" }).end();
    });
    const options = { timeoutMs: 2 ** 31 }; // more than a timer takes
    expect((await server.client.getVolume({ id }, options)).id).toBe(id);
    expect(calls).toBe(2);
    const error = await failureOf(server.client.createVolume({ parent: "shelves/a" }));
    expect([error.code, error.rawMessage]).toEqual([Code.Unknown, "HTTP 302, to /new"]);
    expect(calls).toBe(3);
  });

  test("a create that is lost on a connection that was in use is not sent again", async () => {
    let calls = 0;
    await using server = await open((request, response) => {
      calls++;
      if (request.method === "GET") response.writeHead(200, json).end(volume);
      else request.socket.destroy();
    });
    await server.client.getVolume({ id });
    const error = await failureOf(server.client.createVolume({ parent: "shelves/a" }));
    expect([error.code, calls]).toEqual([Code.Unavailable, 2]);
  });

  test.each<[when: string, code: Code | undefined]>([
    ["its deadline passes", Code.DeadlineExceeded],
    ["it is aborted", Code.Canceled],
    ...(tellsOfReaders ? ([["nobody reads on", undefined]] as [string, undefined][]) : []),
  ])("a stream closes its connection when %s", async (_when, code) => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    await using server = await open((_request, response) => {
      response.on("close", resolve);
      response.writeHead(200, json).write('{"id":1}\n');
    });
    const controller = new AbortController();
    const { signal } = controller;
    const timeoutMs = code === Code.DeadlineExceeded ? 1000 : 20_000;
    const read = async () => {
      const stream = server.client.watchVolumes({ parent: "shelves/a" }, { signal, timeoutMs });
      for await (const _ of stream) {
        if (code === undefined) break;
        if (code === Code.Canceled) controller.abort();
      }
    };
    if (code === undefined) await read();
    else expect((await failureOf(read())).code).toBe(code);
    await closed;
  });
});

test("interceptors see the template, and may change headers and message", async () => {
  const seen: string[] = [];
  const interceptor: Interceptor = (next) => async (request) => {
    seen.push(`${request.requestMethod} ${request.url}`);
    request.header.set("x-a", "1");
    return await next(request);
  };
  const { sent, client } = answering(volume, plain, { interceptors: [interceptor] });
  await client.getVolume({ id });
  expect(seen).toEqual(["GET https://api.example.com/base/v1/{name=shelves/*/volumes/*}"]);
  expect(sent.headers.get("x-a")).toBe("1");
});
