/** Calls that connect-node and the gateway serve alike, by each door that a row applies to. */
import { create, type Message } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";
import { type Call, type Door, isGet, isGrpc, isUnary, requestOf, service } from "./call.ts";
import { type App, type Case, type Setup, valueKey } from "./side.ts";

export interface Row {
  readonly what: string;
  /** Default: every door. */
  readonly on?: (door: Door) => boolean;
  readonly call?: Call;
  readonly setup?: Setup;
  readonly app?: App;
}

/** The cases of JSON are watched by a gate and interceptors; others where the row needs it. */
export function caseOf(door: Door, { call = {}, setup = {}, app = {} }: Row): Case {
  const needs = app.gate !== undefined || app.acts !== undefined || door.codec === "json";
  const watched = setup.service === undefined ? { ...setup, watched: needs } : setup;
  return { setup: watched, app, request: { ...requestOf(door, call), http: door.http } };
}

function rowsOf<T>(what: string, values: readonly T[], row: (value: T) => Omit<Row, "what">) {
  return values.map((value) => ({ what: `${what} ${labelOf(value)}`, ...row(value) }));
}

function labelOf(value: unknown): string {
  const text = Array.isArray(value)
    ? `${value[0]}`
    : typeof value === "object"
      ? JSON.stringify(value)
      : `${value}`;
  return JSON.stringify(text.slice(0, 60));
}

const isPost = (door: Door) => !isGet(door);
const isHttp1 = ({ http }: Door) => http === "1.1";
const isUnaryPost = (door: Door) => isPost(door) && isUnary(door);
const required = { requireConnectProtocolHeader: true };
const long = { message: { string: "x".repeat(2000) } };
/** For what serves no uninvited compression: see differences.ts. */
const accepts = (list: string) => ({
  on: (door: Door) => isUnary(door) || door.protocol !== "grpc",
  call: { headers: { "@accept": list } },
});
const inGzip = { packed: "gzip", headers: { "@accept": "gzip" } } as const;

/** What is served: path, method, media type, version of the protocol. */
const negotiation: readonly Row[] = [
  { what: "a usual call" },
  ...rowsOf(
    "content type",
    [
      ...["application/json", "application/proto", "application/json; charset=utf-8", "text/plain"],
      ...["APPLICATION/JSON", "application/json;charset=UTF-8", "application/protobuf", "json", ""],
      ...["application/connect+proto", "application/connect+json", "application/connect", "*/*"],
      ...["application/grpc", "application/grpc+proto", "application/grpc+json"],
      ...["application/grpc+", "application/grpc+thrift", "application/grpcweb"],
      ...["application/grpc-web", "application/jsonp", "application/grpc-web+json"],
      ...["application/json, application/proto", "Application/GRPC+Proto"],
      ...["application/json; charset=utf-16", "application/grpc-web-text+xml"],
    ],
    (type) => ({ on: isUnaryPost, call: { headers: { "content-type": type }, body: [] } }),
  ),
  { what: "no content type", on: isUnaryPost, call: { headers: { "content-type": null } } },
  ...rowsOf(
    "path",
    [`${service}/Echo?a=b&encoding=json`, `${service}/Echo?a?b`, `${service}/Echo?`],
    (path) => ({ on: isUnaryPost, call: { path } }),
  ),
  ...rowsOf(
    "unknown path, and a fallback",
    ["/", `${service}/echo`, `${service}/Echo/`, `/${service}/Echo`],
    (path) => ({ setup: { fallback: true }, call: { path } }),
  ),
  {
    what: "prefix",
    setup: { requestPathPrefix: "/api", fallback: true },
    call: { path: `/api${service}/Echo` },
    on: isUnary,
  },
  { what: "a path without the prefix", setup: { requestPathPrefix: "/api", fallback: true } },
  ...rowsOf(
    "only some protocols:",
    [{ connect: false }, { grpc: false }, { grpcWeb: false }, { grpc: false, grpcWeb: false }],
    (setup) => ({ setup, on: isUnaryPost }),
  ),
  ...rowsOf(
    "for the service:",
    [{ connect: false }, { grpc: false }, { grpcWeb: false }],
    (setup) => ({ setup: { service: setup }, on: isUnaryPost }),
  ),
  {
    what: "the service replaces options",
    setup: { watched: true, readMaxBytes: 1, service: { readMaxBytes: 100, compressMinBytes: 1 } },
  },
  ...rowsOf<[what: string, setup: Setup]>(
    "options of the service:",
    [
      ["a gate and interceptors", { service: { watched: true } }],
      ["its own gate and interceptors", { watched: true, service: { watched: true } }],
      ["no compression", { compressMinBytes: 1, service: { acceptCompression: [] } }],
      ["no gRPC of the router, and other options", { grpc: false, service: { readMaxBytes: 500 } }],
      ["no gRPC of the router, and no gRPC-Web", { grpc: false, service: { grpcWeb: false } }],
      [
        "other JSON",
        {
          jsonOptions: { ignoreUnknownFields: false },
          service: { jsonOptions: { alwaysEmitImplicit: true } },
        },
      ],
    ],
    ([, setup]) => ({ on: isUnary, setup, call: inGzip }),
  ),
  {
    what: "a method with options of its own",
    on: isUnaryPost,
    setup: { readMaxBytes: 1, service: { readMaxBytes: 100 } },
    call: { path: "/library.v1.LibraryService/UpdateLibrary" },
  },
  {
    what: "unknown fields that are refused",
    on: (door) => isUnaryPost(door) && door.codec === "json",
    setup: { jsonOptions: { ignoreUnknownFields: false } },
    call: { bytes: '{"isbn":1}' },
  },
  ...rowsOf("version", ["", "1", "2"], (version) => ({
    ...{ on: isUnary, setup: required },
    call: { headers: version === "" ? {} : { "connect-protocol-version": version } },
  })),
  ...rowsOf(
    "query",
    [
      ...[
        "encoding=json&message=%7B%22string%22:%22a%2Bb+c%22%7D",
        "encoding=proto&base64=1&message=cgFh",
      ],
      ...["message=r%01a&encoding=proto", "encoding=proto&message", "encoding=proto&base64=1"],
      ...["encoding=json&base64=0&message=%7B%7D", "encoding=json&compression=x&message=%7B%7D"],
      ...["encoding=xml&message=%7B%7D", "message=%7B%7D", "Encoding=json&Message=%7B%7D"],
      ...["encoding=json;message=%7B%7D", "encoding=json&encoding=proto&message=%7B%7D"],
      ...["%65ncoding=json&a=b&messag%65=%7B%22string%22:%22a=b%22%7D&message=x"],
      ...["encoding=proto&base64=1&message=cgJ-fg", "encoding=json&base64=true&message=%7B%7D"],
    ],
    (query) => ({ on: isGet, call: { query } }),
  ),
  ...rowsOf(
    "GET with the content type",
    ["application/json", "text/plain", "application/grpc", "application/connect+json"],
    (type) => ({ on: isGet, call: { headers: { "content-type": type } } }),
  ),
  ...rowsOf(
    "query, where a version is required,",
    ["", "&connect=v1", "&connect=1"],
    (version) => ({
      ...{ on: isGet, setup: required },
      call: { query: `encoding=json&message=%7B%7D${version}` },
    }),
  ),
];

/** How large a message is. How many there are is in rpc/envelope.test.ts. */
const messages: readonly Row[] = [
  { what: "an empty message", call: { message: {} } },
  { what: "a message above the limit", setup: { readMaxBytes: 1000 }, call: long },
  { what: "a large packed one", setup: { readMaxBytes: 1000 }, call: { ...long, packed: "gzip" } },
  { what: "an answer above the limit", setup: { writeMaxBytes: 1000 }, call: long },
];

const encodings: readonly Row[] = [
  ...(["gzip", "br"] as const).map((packed) => ({
    what: `a request and its answer in ${packed}`,
    setup: { compressMinBytes: 1 },
    call: { packed },
  })),
  ...rowsOf(
    "accepts",
    [
      ...["gzip", "br", "identity", "", "gzip,br", "br,gzip", "br , gzip", "deflate, br", "*"],
      ...["gzip;q=1.0", "gzip;q=0", "br;q=0.5, gzip;q=1.0", "GZIP", ", ,gzip", "unknown,identity"],
    ],
    (list) => ({ setup: { compressMinBytes: 1 }, ...accepts(list) }),
  ),
  ...rowsOf("compresses from", [0, 3, 4, 14, 15], (compressMinBytes) => ({
    ...{ setup: { compressMinBytes }, ...accepts("gzip") },
  })),
  { what: "an unknown encoding", on: isUnary, call: { headers: { "@encoding": "x" } } },
];

const refusal = (code = Code.FailedPrecondition, metadata = {}) =>
  new ConnectError("app é 100%", code, metadata, [
    { desc: RetryInfoSchema, value: { retryDelay: { seconds: 2n, nanos: 5 } } },
  ]);
const throws = (thrown: () => unknown, before?: (context: HandlerContext) => void): App => ({
  implement(_message, context) {
    before?.(context);
    throw thrown();
  },
});
const rejects = (thrown: () => unknown): App => ({
  implement: async () => Promise.reject(thrown()),
});

const errors: readonly Row[] = [
  ...rowsOf(
    "code",
    // 16 is UNAUTHENTICATED, with a header of ours.
    Array.from({ length: 15 }, (_, i) => i + 1),
    (code) => ({ app: throws(() => new ConnectError("app", code)) }),
  ),
  ...rowsOf(
    "the message app",
    [" ", "%41", "🌱", "\na: b", '"', "\\", "<b>", "\u0000", "\u2028", "a".repeat(3000)],
    (text) => ({ app: throws(() => new ConnectError(`app${text}`, Code.Aborted)) }),
  ),
  { what: "an error with details", app: rejects(refusal) },
  {
    what: "an error that is compressed",
    ...{ setup: { compressMinBytes: 0 }, ...accepts("gzip"), app: rejects(refusal) },
  },
  {
    what: "an error of another service",
    app: rejects(() => Object.assign(refusal(), { isWireError: true })),
  },
  {
    what: "an error behind a message",
    app: {
      implement(message, { responseTrailer }) {
        if (responseTrailer.has("x-first")) throw refusal();
        responseTrailer.set("x-first", "1");
        return message;
      },
    },
  },
  {
    what: "an error of another copy of connect",
    app: throws(() =>
      Object.assign(new Error("app"), {
        name: "ConnectError",
        code: 7,
        rawMessage: "app",
        details: [],
        metadata: new Headers([["x-a", "1"]]),
        cause: undefined,
      }),
    ),
  },
  ...rowsOf<readonly [string, unknown]>(
    "thrown:",
    [
      ["an Error", new Error("app")],
      ["null", null],
      ["5", 5],
      ["a text", "text"],
      ["an object", { code: 5 }],
      ["an AbortError", new DOMException("app", "AbortError")],
    ],
    ([, thrown]) => ({ app: rejects(() => thrown) }),
  ),
  {
    what: "an error with metadata, headers and trailers",
    app: throws(
      () =>
        refusal(Code.Aborted, [
          ["x-error", "3"],
          ["x-error", "4"],
          ["x-both", "c"],
        ]),
      ({ responseHeader, responseTrailer }) => {
        responseHeader.set("x-both", "a");
        responseTrailer.set("x-both", "b");
      },
    ),
  },
  {
    what: "the gate refuses",
    app: {
      gate: () => {
        throw refusal(Code.PermissionDenied, { "x-gate": "1" });
      },
    },
  },
  {
    what: "the gate refuses before all else",
    setup: { requireConnectProtocolHeader: true, readMaxBytes: 1 },
    call: { headers: { "@encoding": "x", "@timeout": "x" } },
    app: {
      gate: () => {
        throw refusal();
      },
    },
  },
  ...rowsOf<readonly [string, unknown]>(
    "answered:",
    [
      ["undefined", undefined],
      ["null", null],
      ["a text", "text"],
      ["an unknown field", { nothing: 1 }],
      ["a lone surrogate", { string: "\ud800" }],
    ],
    ([, answer]) => ({ on: isUnary, app: { implement: () => answer } }),
  ),
];

const incoming: Readonly<Record<string, string | readonly string[]>> = {
  "x-text": "a, b;c=d",
  "x-several": ["a", "b", "a"],
  "x-empty": "",
  "x-capital": "A",
  "x-percent": "%41%zz%",
  "x-bytes-bin": ["AAEC,AwQ", "BQ=="],
  cookie: ["a=1", "b=2"],
  "user-agent": "a/1",
  "grpc-status": "5",
  "trailer-x": "y",
  constructor: "a",
  "1": "b",
  "x-large": "a".repeat(6000),
  "x-forwarded-proto": "https",
};
const setNames = [
  ...["x-text", "X-Capital", "trailer-x", "vary", "server", "etag", "content-type", "date"],
  ...["allow", "grpc-message", "grpc-encoding", "grpc-accept-encoding", "accept-encoding"],
  ...["www-authenticate"],
  ...["connect-content-encoding", "user-agent", "cache-control", "location", "retry-after"],
];
const sets =
  (name: string): App["implement"] =>
  (message, context) => {
    for (const headers of [context.responseHeader, context.responseTrailer]) {
      headers.append(name, "a");
      headers.append(name, "b");
    }
    if ((message as { int32?: number }).int32 === 1) throw refusal(Code.Aborted, { [name]: "c" });
    return message;
  };

const metadata: readonly Row[] = [
  { what: "headers of all kinds", call: { headers: incoming } },
  ...rowsOf("sets", [...setNames, "set-cookie"], (name) => ({
    app: { implement: sets(name) as NonNullable<App["implement"]> },
  })),
  ...rowsOf(
    "fails, and sets",
    setNames.filter((name) => name !== "content-type"),
    (name) => ({
      on: isUnary,
      call: { message: { int32: 1 } },
      app: { implement: sets(name) as NonNullable<App["implement"]> },
    }),
  ),
  ...rowsOf(
    "takes away",
    ["content-type", "grpc-status", "grpc-encoding", "content-encoding"],
    (name) => ({
      on: isUnary,
      setup: { compressMinBytes: 1 },
      call: { packed: "gzip" },
      app: {
        implement(message, { responseHeader, responseTrailer }) {
          for (const headers of [responseHeader, responseTrailer]) headers.delete(name);
          return message;
        },
      },
    }),
  ),
];

const other = create(EveryFieldSchema, { string: "other" }) as Message;
type Act = NonNullable<App["acts"]>[number];
const acts: Readonly<Record<string, Act>> = {
  "sets fields": async (next, request) => {
    request.header.set("x-request", "1");
    const response = await next(request);
    response.header.set("x-header", "2");
    response.trailer.set("x-trailer", "3");
    return response;
  },
  "replaces the request": (next, request) =>
    next({ ...request, header: new Headers({ "x-new": "1" }) } as never),
  "changes the message": (next, request) =>
    next(request.stream ? request : ({ ...request, message: other } as never)),
  "changes the answer": async (next, request) => {
    const response = await next(request);
    return response.stream ? response : ({ ...response, message: other } as never);
  },
  "sets a value": (next, request) => {
    request.contextValues.set(valueKey, "of an interceptor");
    return next(request);
  },
  "refuses before": () => Promise.reject(refusal()),
  "refuses at once": () => {
    throw refusal();
  },
  "refuses after": async (next, request) => {
    await next(request);
    throw refusal();
  },
  "throws an Error": () => Promise.reject(new Error("app")),
};
const usual = acts["sets fields"] as Act;
const interceptors: readonly Row[] = Object.entries(acts).flatMap(([what, act]): Row[] => [
  { what: `an interceptor ${what}`, setup: { contextValues: "set" }, app: { acts: [act] } },
  {
    what: `behind another, an interceptor ${what}, of a call that fails`,
    on: isUnary,
    app: { ...throws(refusal), acts: [usual, act] },
  },
]);

const contexts: readonly Row[] = [
  {
    what: "the gate sets fields",
    app: {
      gate: ({ responseHeader, responseTrailer }) => {
        responseHeader.set("x-gate", "1");
        responseTrailer.set("x-end", "2");
      },
    },
  },
  {
    what: "the gate changes the request, later",
    app: { gate: async ({ requestHeader }) => requestHeader.set("x-gate", "1") },
  },
];

const untilAborted =
  (end: "reason" | "answer"): NonNullable<App["implement"]> =>
  async (message, { signal }) => {
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    if (end === "reason") throw signal.reason;
    return message;
  };

/** Deadlines, shutdowns, clients that leave. */
const ends: readonly Row[] = [
  ...rowsOf(
    "grpc-timeout",
    [
      ...["1H", "3600S", "99999999u", "0000020S", "100000000m", "-1m", "1.5S", "S", "1", ""],
      ...["1h", "1H, 1H"],
    ],
    (timeout) => ({
      on: (door) => isGrpc(door) && isUnary(door),
      call: { headers: { "grpc-timeout": timeout } },
    }),
  ),
  ...rowsOf(
    "connect-timeout-ms",
    ["3600000", "2147483647", "-1", "1.5", "1e3", "", "1m", "12345678901", "20000, 20000"],
    (timeout) => ({
      on: (door) => !isGrpc(door) && isUnary(door),
      call: { headers: { "connect-timeout-ms": timeout } },
    }),
  ),
  { what: "a deadline that is told", on: isUnary, call: { timeoutMs: 9000 } },
  { what: "a long timeout", on: isUnary, setup: { maxTimeoutMs: 8999 }, call: { timeoutMs: 9000 } },
  {
    what: "a deadline that passes",
    on: (door) => !/client|bidi/.test(door.kind),
    call: { timeoutMs: 150 },
    app: { implement: untilAborted("reason") },
  },
  {
    what: "a deadline that passes, and an answer",
    on: isUnary,
    call: { timeoutMs: 150 },
    app: { implement: untilAborted("answer") },
  },
  {
    what: "a shutdown in the call",
    setup: { shutdown: "open" },
    app: {
      implement: (_message, { signal }, shutDown) => {
        shutDown();
        throw signal.reason;
      },
    },
  },
  {
    what: "a shutdown before the call",
    on: isUnary,
    setup: { shutdown: "aborted" },
    app: { implement: untilAborted("reason") },
  },
  ...rowsOf<number>("leaves with", [0, 2, 5, 7, 8, 11], (leaves) => ({
    on: (door) => isUnary(door) && !isHttp1(door) && isPost(door),
    call: { leaves },
    app: { implement: untilAborted("reason") },
  })),
  {
    what: "leaves over HTTP/1.1",
    on: (door) => isUnary(door) && isHttp1(door) && isPost(door),
    call: { leaves: 8 },
    app: { implement: untilAborted("reason") },
  },
];

export const tables: Readonly<Record<string, readonly Row[]>> = {
  ...{ negotiation, messages, encodings, errors, metadata, interceptors, contexts, ends },
};
