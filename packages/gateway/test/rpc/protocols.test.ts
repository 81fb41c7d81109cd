/**
 * Every protocol answers as connect-es does, without a network. test/differential compares many more
 * requests, over sockets.
 */
import { gunzipSync, gzipSync } from "node:zlib";
import { create, fromJsonString, toBinary } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  createConnectRouter,
  type HandlerContext,
} from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { compressionGzip as stockGzip } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import type { NodeHeaders } from "../../src/http/headers.ts";
import { collectEndpoints, type Endpoint } from "../../src/rpc/endpoint.ts";
import { trailersOnly } from "../../src/rpc/grpc.ts";
import { compressionGzip } from "../../src/rpc/gzip.ts";
import { type EveryField, EveryFieldSchema, FieldService } from "../gen/library/v1/fields_pb.ts";
import { envelope, parseEnvelopes } from "../support/envelope.ts";
import { createMemoryExchange, headersOf } from "../support/memory-exchange.ts";
import { serveEndpoint } from "../support/serve-endpoint.ts";

/** What the message says is what the implementation does. */
function act({ string }: EveryField, context: HandlerContext): void {
  const { responseHeader, responseTrailer, protocolName, requestMethod, timeoutMs } = context;
  if (string === "") return;
  responseHeader.set("x-header", `${protocolName} ${requestMethod} ${typeof timeoutMs()}`);
  responseTrailer.set("x-trailer", "2");
  if (string === "unexpected") throw new Error("a secret");
  if (string === "refused") throw refusal();
  if (string === "of another") throw Object.assign(refusal(), { isWireError: true });
}

function refusal(): ConnectError {
  const details = [{ desc: BadRequestSchema, value: { fieldViolations: [{ field: "a" }] } }];
  return new ConnectError("no, é", Code.NotFound, { "x-error": "3" }, details);
}

function register(router: ConnectRouter): void {
  router.service(FieldService, {
    echo(message, context) {
      act(message, context);
      return message;
    },
    async collect(messages, context) {
      let last = create(EveryFieldSchema);
      for await (const message of messages) {
        act(message, context);
        last = message;
      }
      return last;
    },
    async *repeat(message, context) {
      act(message, context);
      yield message;
      if (message.string === "late") throw refusal();
      yield message;
    },
    async *exchange(messages, context) {
      for await (const message of messages) {
        act(message, context);
        yield message;
      }
    },
  });
}

interface Request {
  readonly method: string;
  readonly target: string;
  readonly headers: Record<string, string>;
  readonly body: readonly Uint8Array[];
}

interface Answer {
  readonly status: number;
  readonly header: Headers;
  readonly body: Buffer;
  readonly trailer: Headers;
}

/** Both sides, by their options. */
const sides = new Map<string, { router: ConnectRouter; endpoints: readonly Endpoint[] }>();

function sidesOf(options: ConnectRouterOptions) {
  const key = JSON.stringify(options);
  let known = sides.get(key);
  if (known === undefined) {
    const router = createConnectRouter({ ...options, acceptCompression: [stockGzip] });
    register(router);
    const ours = { ...options, acceptCompression: [compressionGzip] };
    known = { router, endpoints: collectEndpoints(ours, register) };
    sides.set(key, known);
  }
  return known;
}

async function stock(options: ConnectRouterOptions, request: Request): Promise<Answer> {
  const path = request.target.replace(/\?.*/, "");
  const { handlers } = sidesOf(options).router;
  const handler = handlers.find(({ requestPath }) => requestPath === path);
  const response = await handler?.({
    httpVersion: "2.0",
    method: request.method,
    url: `http://localhost${request.target}`,
    header: new Headers(request.headers),
    body: createAsyncIterable([...request.body]),
    signal: new AbortController().signal,
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of response?.body ?? []) chunks.push(chunk);
  const { status = 0, header = new Headers(), trailer = new Headers() } = response ?? {};
  return joined({ status, header, body: Buffer.concat(chunks), trailer });
}

/** Ours has no trailers where the application has set no header, so that clients may retry. */
function joined({ status, header, body, trailer }: Answer): Answer {
  const isOnly = body.length === 0 && Number(trailer.get("grpc-status")) > 0;
  return isOnly
    ? { status, header: new Headers([...header, ...trailer]), body, trailer: new Headers() }
    : { status, header, body, trailer };
}

async function gateway(options: ConnectRouterOptions, request: Request): Promise<Answer> {
  const { endpoints } = sidesOf(options);
  const endpoint = endpoints.find(({ rpc }) => request.target.startsWith(rpc.requestPath));
  const exchange = createMemoryExchange(request);
  if (endpoint !== undefined) await serveEndpoint(endpoint, exchange);
  const { status = 0, header = {}, body = "", trailer = {} } = exchange.response ?? {};
  const fields = header as NodeHeaders;
  const bytes = Buffer.from(body as Uint8Array);
  const length = headersOf(fields).get("content-length");
  if (length !== null) expect(length, "its length").toBe(`${bytes.length}`);
  const answer = { status, header: headersOf(fields), trailer: headersOf(trailer) };
  return joined({ ...answer, body: bytes });
}

/** An answer in a form to compare. The words of errors have their own tests, and so has a length. */
function comparable({ status, header, body, trailer }: Answer) {
  const plain = (headers: Headers) =>
    [...headers]
      .filter(([name]) => name !== "content-length" && name !== "grpc-message")
      .filter(([name]) => name !== "grpc-status-details-bin");
  const isPacked = header.get("content-encoding") === "gzip";
  const textOf = (bytes: Buffer, isGzip: boolean) =>
    (isGzip ? gunzipSync(bytes) : bytes)
      .toString("latin1")
      .replace(/"message":"[^"]*",?|grpc-message.*\r\n|grpc-status-details-bin.*\r\n/g, "");
  const isEnveloped = /grpc|connect\+/.test(header.get("content-type") ?? "");
  const pieces = isEnveloped
    ? parseEnvelopes(body).map(({ flags, message }) => [flags, textOf(message, (flags & 1) !== 0)])
    : textOf(body, isPacked);
  return { status, header: plain(header), pieces, trailer: plain(trailer) };
}

const kinds = {
  unary: "Echo",
  client_streaming: "Collect",
  server_streaming: "Repeat",
  bidi_streaming: "Exchange",
} as const;
type Kind = keyof typeof kinds;

interface Door {
  readonly name: string;
  readonly kind: Kind;
  readonly type: string;
  readonly isEnveloped: boolean;
  /** The names of its headers. */
  readonly encoding: string;
  readonly accept: string;
  readonly timeout: string;
}

const doors: readonly Door[] = (["proto", "json"] as const).flatMap((codec) =>
  (Object.keys(kinds) as Kind[]).flatMap((kind) => {
    const grpc = {
      encoding: "grpc-encoding",
      accept: "grpc-accept-encoding",
      timeout: "grpc-timeout",
    };
    const isUnary = kind === "unary";
    const prefix = isUnary ? "" : "connect-";
    const connect = {
      encoding: `${prefix}content-encoding`,
      accept: `${prefix}accept-encoding`,
      timeout: "connect-timeout-ms",
    };
    const door = (name: string, type: string, names: typeof grpc, isEnveloped = true) => ({
      ...{ name: `${name} ${kind} ${codec}`, kind, isEnveloped, ...names },
      type: `application/${type}${codec}`,
    });
    return [
      door("gRPC", "grpc+", grpc),
      door("gRPC-Web", "grpc-web+", grpc),
      door("Connect", isUnary ? "" : "connect+", connect, !isUnary),
    ];
  }),
);

interface Sent {
  readonly text?: string;
  readonly isPacked?: boolean;
  readonly headers?: (door: Door) => Record<string, string>;
  /** Instead of one envelope. */
  readonly body?: (one: Buffer) => readonly Buffer[];
}

function requestOf(door: Door, { text = "", isPacked = false, headers, body }: Sent): Request {
  const json = JSON.stringify(text === "" ? {} : { string: text });
  const message = fromJsonString(EveryFieldSchema, json);
  const plain = door.type.endsWith("json") ? json : toBinary(EveryFieldSchema, message);
  const bytes = isPacked ? gzipSync(plain) : Buffer.from(plain as Uint8Array);
  const one = door.isEnveloped ? envelope(bytes, isPacked ? 1 : 0) : bytes;
  return {
    method: "POST",
    target: `/library.v1.FieldService/${kinds[door.kind]}`,
    headers: {
      "content-type": door.type,
      ...(isPacked && { [door.encoding]: "gzip" }),
      ...headers?.(door),
    },
    body: body?.(one) ?? [one],
  };
}

async function expectSame(options: ConnectRouterOptions, request: Request): Promise<void> {
  const [ours, theirs] = [await gateway(options, request), await stock(options, request)];
  expect(comparable(ours)).toEqual(comparable(theirs));
}

const long = "x".repeat(2000);
const accepts = (door: Door) => ({ [door.accept]: "br, gzip" });
const nineSeconds = ({ timeout }: Door) => ({ [timeout]: timeout.startsWith("g") ? "9S" : "9000" });
const ofVersion = (version: string): Sent => ({
  headers: () => ({ "connect-protocol-version": version }),
});
const required = { requireConnectProtocolHeader: true };

describe.each(doors)("$name:", (door) => {
  test.each<[what: string, sent: Sent, options?: ConnectRouterOptions]>([
    ["an empty message", {}],
    ["a message, and an answer with headers and trailers", { text: "a" }],
    ["an error with details", { text: "refused" }],
    ["an error behind a message", { text: "late" }],
    ["an error of another service", { text: "of another" }],
    ["a long answer", { text: long }],
    ["an error of nobody's", { text: "unexpected" }],
    ["a compressed message", { text: "a", isPacked: true }],
    ["a compressed answer", { text: long, headers: accepts }],
    ["a short compressed answer", { text: "a", headers: accepts }, { compressMinBytes: 0 }],
    ["an answer just long enough", { text: "a", headers: accepts }, { compressMinBytes: 3 }],
    ["JSON that is just long enough", { text: "a", headers: accepts }, { compressMinBytes: 14 }],
    ["an empty answer that is compressed", { headers: accepts }, { compressMinBytes: 0 }],
    ["a compressed error", { text: "refused", headers: accepts }, { compressMinBytes: 0 }],
    ["an unknown compression", { headers: (to) => ({ [to.encoding]: "x" }) }],
    ["a deadline that is none", { headers: (to) => ({ [to.timeout]: "x" }) }],
    ["a deadline, which is told", { text: "a", headers: nineSeconds }],
    ["a deadline that is too long", { headers: nineSeconds }, { maxTimeoutMs: 8999 }],
    ["no version of the protocol", {}, required],
    ["a version of the protocol", ofVersion("1"), required],
    ["a wrong version", ofVersion("2"), required],
    ["a message that unpacks too large", { text: long, isPacked: true }, { readMaxBytes: 1000 }],
    ["a message that is too large", { text: long }, { readMaxBytes: 1000 }],
    ["an answer that is too large", { text: long }, { writeMaxBytes: 1000 }],
    ["another media type", { headers: () => ({ "content-type": "application/x" }) }],
    ["no message", { body: (one) => (door.isEnveloped ? [] : [one]) }],
    ["two messages", { text: "a", body: (one) => (door.isEnveloped ? [one, one] : [one]) }],
    [
      "a message cut short",
      { text: "a", body: (one) => [door.isEnveloped ? one.subarray(0, -1) : one] },
    ],
  ])("%s", async (_what, sent, options = {}) => {
    await expectSame(options, requestOf(door, sent));
  });
});

describe("Connect's GET:", () => {
  const packed = gzipSync('{"string":"a"}').toString("base64url");
  test.each<[query: string, options?: ConnectRouterOptions]>([
    ["encoding=json&message=%7B%22string%22:%22a%2Bb+c%22%7D"],
    ["encoding=proto&base64=1&message=cgFh"],
    ["message=r%01a&encoding=proto"],
    ["encoding=proto&message"],
    ["encoding=json&base64=0&message=%7B%7D"],
    [`encoding=json&base64=1&compression=gzip&message=${packed}`],
    ["encoding=json&compression=x&message=%7B%7D"],
    ["encoding=proto&base64=1"],
    ["encoding=xml&message=%7B%7D"],
    ["message=%7B%7D"],
    ["%65ncoding=json&a=b&messag%65=%7B%22string%22:%22a=b%22%7D&message=x"],
    ["encoding=json&message=%7B%7D", required],
    ["encoding=json&message=%7B%7D&connect=v1", required],
    ["encoding=json&message=%7B%7D&connect=1", required],
    ["encoding=json&message=%7B%22string%22:%22refused%22%7D"],
    ["Encoding=json&Message=%7B%7D"],
    ["encoding=json;message=%7B%7D"],
    ["encoding=json&encoding=proto&message=%7B%7D"],
    ["encoding=proto&base64=1&message=cgJ-fg"],
    ["encoding=json&base64=true&message=%7B%7D&__proto__=c"],
  ])("%s", async (query, options = {}) => {
    const target = `/library.v1.FieldService/Echo?${query}`;
    await expectSame(options, { method: "GET", target, headers: {}, body: [] });
  });

  test.each(["application/json", "text/plain", "application/grpc", "application/connect+json"])(
    "a media type of %s",
    async (type) => {
      const target = "/library.v1.FieldService/Echo?encoding=json&message=%7B%7D";
      const headers = { "content-type": type };
      await expectSame({}, { method: "GET", target, headers, body: [] });
    },
  );
});

test.each([
  ["no base64", "encoding=json&base64=1&message=!!!"],
  ["cut short", "encoding=proto&base64=1&message=cgJ"],
  ["missing, as JSON", "encoding=json"],
])("Connect's GET with a message that is %s is refused", async (_what, query) => {
  const target = `/library.v1.FieldService/Echo?${query}`;
  const answer = await gateway({}, { method: "GET", target, headers: {}, body: [] });
  expect(answer.status).toBe(400);
  expect(JSON.parse(answer.body.toString())).toMatchObject({ code: "invalid_argument" });
});

/** What connect-es knows nothing of. */
describe("a request that cannot be answered", () => {
  test("by gRPC has its status in the headers, and its own media type", () => {
    const error = new ConnectError("no", Code.Unimplemented);
    const headers = { "content-type": "application/grpc+json" };
    expect(trailersOnly({ headers }, error)).toEqual({
      status: 200,
      header: { ...headers, "grpc-status": Code.Unimplemented, "grpc-message": "no" },
      body: "",
      error,
    });
  });

  async function serve(kind: Kind, changes: object, type = "application/grpc+json", text = "{}") {
    const request = { headers: { "content-type": type }, body: [envelope(text)] };
    const exchange = Object.assign(createMemoryExchange(request), changes);
    const endpoint = sidesOf({}).endpoints.find(({ spec }) => spec.kind === kind);
    if (endpoint !== undefined) await serveEndpoint(endpoint, exchange);
    return exchange.response;
  }

  test("for a stream both ways over HTTP/1.1 closes the connection", async () => {
    expect(await serve("bidi_streaming", { isDuplex: false })).toMatchObject({
      status: 505,
      header: { connection: "close", "content-length": 0 },
      error: { code: Code.Unimplemented },
    });
    for (const kind of ["client_streaming", "server_streaming", "unary"] as const) {
      expect(await serve(kind, { isDuplex: false })).toMatchObject({ status: 200 });
    }
  });

  test.each(["unary", "server_streaming"] as const)(
    "for gRPC without trailers has its status in the headers: %s",
    async (kind) => {
      const answer = await serve(kind, { hasTrailers: false });
      expect(answer).toMatchObject({
        status: 200,
        header: { "content-type": "application/grpc+json", "grpc-status": "12" },
        error: { code: Code.Unimplemented },
      });
      expect(answer?.body).toHaveLength(0);
      const web = await serve(kind, { hasTrailers: false }, "application/grpc-web+json");
      expect(web?.error).toBeUndefined();
      const wrong = await serve(kind, { hasTrailers: false }, "application/grpc-web+json", "{");
      expect(wrong?.header).not.toHaveProperty("grpc-status");
      expect(Buffer.from(wrong?.body as Uint8Array).toString()).toContain("grpc-status: 3");
    },
  );
});

describe("gRPC-Web text", () => {
  test.each(["proto", "json"])("is gRPC-Web in base64: %s", async (codec) => {
    const door = doors.find(({ name }) => name === `gRPC-Web unary ${codec}`) as Door;
    const repeat = doors.find(({ name }) => name === `gRPC-Web server_streaming ${codec}`) as Door;
    for (const one of [door, repeat]) {
      for (const text of ["a", "refused"]) {
        const request = requestOf(one, { text });
        const binary = await gateway({}, request);
        const inText = await gateway(
          {},
          {
            ...request,
            headers: { "content-type": one.type.replace("grpc-web", "grpc-web-text") },
            body: request.body.map((bytes) => Buffer.from(Buffer.from(bytes).toString("base64"))),
          },
        );
        expect(inText.header.get("content-type")).toBe(`application/grpc-web-text+${codec}`);
        const groups = inText.body.toString().match(/[^=]+=*/g) ?? [];
        const decoded = Buffer.concat(groups.map((group) => Buffer.from(group, "base64")));
        expect(decoded).toEqual(binary.body);
      }
    }
  });
});

test.each(["unary", "client_streaming"] as const)(
  "gRPC-Web text that ends amid a group is refused: %s",
  async (kind) => {
    const door = doors.find(({ name }) => name === `gRPC-Web ${kind} json`) as Door;
    const { body, ...request } = requestOf(door, { text: "a" });
    const headers = { "content-type": "application/grpc-web-text+json" };
    const text = Buffer.concat(body).toString("base64");
    const answer = await gateway({}, { ...request, headers, body: [Buffer.from(`${text}A`)] });
    const decoded = Buffer.from(answer.body.toString(), "base64").toString();
    expect(decoded).toContain("grpc-status: 3\r\n");
  },
);

async function answerWith(fields: Record<string, string>, type: string) {
  const [echo] = collectEndpoints({}, (router) => {
    router.service(FieldService, {
      echo(message, { responseHeader, responseTrailer }) {
        for (const [name, value] of Object.entries(fields)) {
          responseHeader.set(name, value);
          responseTrailer.set(name, value);
        }
        return message;
      },
    });
  });
  const exchange = createMemoryExchange({
    headers: { "content-type": type },
    body: [envelope("{}")],
  });
  if (echo !== undefined) await serveEndpoint(echo, exchange);
  const { header = {}, trailer = {}, body = "" } = exchange.response ?? {};
  return { header, trailer, bytes: body.length };
}

test("a Content-Length of the application is not that of envelopes", async () => {
  const fields = { "content-length": "1" };
  const grpc = await answerWith(fields, "application/grpc+json");
  expect(grpc.header).not.toHaveProperty("content-length");
  expect(grpc.trailer).not.toHaveProperty("content-length");
  const web = await answerWith(fields, "application/grpc-web+json");
  expect(web.header).toMatchObject({ "content-length": web.bytes });
});

test("an answer that announces trailers has no length: Node would refuse both", async () => {
  const { header } = await answerWith({ trailer: "x-a" }, "application/grpc-web+json");
  expect(header).toMatchObject({ trailer: "x-a" });
  expect(header).not.toHaveProperty("content-length");
});
