/**
 * In what ours differs from connect-node, on purpose. Each entry turns the
 * outcome of the stock adapter into ours exactly, and has cases that it
 * changes: one that no longer differs fails, and so does one that is to come
 * and has.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { errorToJson } from "@connectrpc/connect/protocol-connect";
import { exactJsonDecoder } from "../../../src/gateway/json.ts";
import { EveryFieldSchema, FieldService } from "../gen/library/v1/fields_pb.ts";
import { LibraryService } from "../gen/library/v1/library_pb.ts";
import type { Case, Field } from "./case.ts";
import { answered, hasSucceeded, rest, withCode } from "./difference-outcomes.ts";
import type { Outcome } from "./outcome.ts";
import { type CallSpec, createRequest, echoPath, updatePath } from "./request.ts";
import type { ErrorSpec, Script } from "./script.ts";
import type { Setup } from "./setup.ts";

export interface Difference {
  readonly name: string;
  /** What the stock adapter does, what ours does, and why. */
  readonly why: string;
  /** Whether ours has it already: then it must differ; else it must not. */
  readonly isInEffect: boolean;
  /** The requests that it is about. */
  applies(given: Case): boolean;
  /** The outcome that ours has, given that of the stock adapter. */
  expected(stock: Outcome, given: Case): Outcome;
  /** Cases that it changes. */
  readonly examples: readonly Case[];
}

const notAllowed: Difference = {
  name: "a 405 says what is allowed",
  why: "Stock answers 405 alone. RFC 9110 section 15.5.6 wants Allow with it.",
  isInEffect: true,
  applies: (given) => !allowedMethods(given).includes(given.request.method) && isRpcPath(given),
  expected: (stock, given) => withHeader(stock, "allow", allowedMethods(given).join(", ")),
  examples: [
    example({ protocol: "connect" }, { change: { method: "PUT" } }),
    example({ protocol: "connect", http: "2" }, { change: { method: "DELETE", path: updatePath } }),
    example({ protocol: "connect-get", path: updatePath }),
    example({ protocol: "connect-get" }, { setup: { connect: false } }),
  ],
};

const notFound: Difference = {
  name: "a 404 has a body",
  why: "Stock's own fallback answers an empty 404. Ours serves REST, whose errors have a body.",
  isInEffect: true,
  applies: (given) => !given.setup.fallback && !isRpcPath(given) && !absoluteTarget.applies(given),
  expected: (stock, given) =>
    rest(stock, given, {
      status: 404,
      code: Code.NotFound,
      message: "nothing is served at this path",
    }),
  examples: [
    example({ protocol: "connect", path: "/elsewhere" }),
    example({ protocol: "grpc", http: "2", path: "/elsewhere" }),
  ],
};

const hosts = ["a b", "user@host", "a/b", "a:x", "[::1", "a:99999", ""];

const wrongHost: Difference = {
  name: "a host that is none gets a 400",
  why:
    "Stock makes a URL of Host and target outside its promise: where it cannot, it throws into " +
    "the server, which ends the process. Where it can, what it makes is not what was meant.",
  isInEffect: true,
  applies: ({ request }) =>
    request.http === "1.1" &&
    (hosts.includes(valuesOf(request.headers, "host")[0] ?? "") ||
      valuesOf(request.headers, "host").length > 1),
  expected: (stock, given) => ({
    ...rest(stock, given, {
      status: 400,
      code: Code.InvalidArgument,
      message: "Host must name one host, and the target be a path",
    }),
    reported: [],
    seen: [],
  }),
  examples: [
    ...hosts.map((host) => example({ protocol: "connect", headers: [["host", host]] })),
    example({
      protocol: "grpc-web",
      headers: [
        ["host", "a"],
        ["host", "b"],
      ],
    }),
  ],
};

const noHost: Difference = {
  name: "HTTP/1.0 need not name a host",
  why: "Stock throws into the server where HTTP/1.0 has no Host. Ours takes localhost.",
  isInEffect: true,
  applies: ({ request }) =>
    request.http === "1.0" && valuesOf(request.headers, "host").length === 0,
  expected: echoed,
  examples: [
    example(
      { protocol: "connect", http: "1.0", headers: [["host", null]] },
      { script: { look: "never", implementation: { ends: { do: "echo" } } } },
    ),
  ],
};

const absoluteTarget: Difference = {
  name: "a target in absolute form is served",
  why: "Stock finds no method at it. RFC 9112 section 3.2.2: a server MUST accept it.",
  isInEffect: true,
  applies: ({ request }) => request.path.startsWith("http://"),
  expected: echoed,
  examples: [
    example(
      { protocol: "connect", path: `http://example.test${echoPath}` },
      { script: { look: "never", implementation: { ends: { do: "echo" } } } },
    ),
  ],
};

const contextValuesThrow: Difference = {
  name: "contextValues may throw",
  why: "Stock calls it outside its promise: what it throws ends the process. Ours answers 500.",
  isInEffect: true,
  applies: ({ setup }) => setup.contextValues === "throws",
  expected: (stock, given) => ({
    ...rest(stock, given, { status: 500, code: Code.Internal, message: "internal error" }),
    reported: stock.reported.map((thrown) => (thrown as { cause: unknown }).cause),
  }),
  examples: [
    example({ protocol: "connect" }, { setup: { contextValues: "throws" } }),
    example({ protocol: "grpc", http: "2" }, { setup: { contextValues: "throws" } }),
  ],
};

const neverAnswered: Difference = {
  name: "a handler that fails itself has an answer",
  why:
    "Where an error cannot be written (a lone surrogate in a gRPC message, a detail that is no " +
    "message, a header field that Node refuses), stock reports it and leaves the client waiting. " +
    "Ours reports the same, and answers or breaks off.",
  isInEffect: true,
  applies: ({ request, script }) =>
    mentions(script, /\\ud800|"broken"/) ||
    (request.http !== "2" ? mentions(script, /"trailer"/) : mentions(script, ofConnections)),
  expected(stock, given) {
    const [reported] = stock.reported as readonly { code?: number; rawMessage?: string }[];
    if (stock.end !== "never answered" || reported === undefined) return stock;
    // Neither can the answer to that be written, as the field that Node refuses stays.
    if (given.request.http === "2" && /HTTP\/1 Connection/.test(`${reported.rawMessage}`)) {
      return { ...stock, end: "reset 2", reported: [reported, reported] };
    }
    const { code = Code.Internal, rawMessage: message = "internal error" } = reported;
    return rest(stock, given, { status: 500, code, message });
  },
  examples: [
    failing({ protocol: "grpc", http: "2" }, { message: "\ud800" }),
    failing({ protocol: "grpc-web" }, { message: "\ud800" }),
    failing({ protocol: "connect" }, { message: "no", details: ["broken"] }),
    example(
      { protocol: "connect" },
      { script: { implementation: { headers: [["trailer", "a"]], ends: { do: "echo" } } } },
    ),
    failing({ protocol: "connect", http: "2" }, { message: "no", metadata: [["upgrade", "a"]] }),
  ],
};

const ofConnections = /"(te|keep-alive|upgrade|connection)"/;

const truncatedGzip: Difference = {
  name: "gzip that is cut short is its sender's fault",
  why: "Stock calls it an internal error; ours invalid_argument, as for other data that is wrong.",
  isInEffect: true,
  applies: ({ request, setup }) =>
    setup.acceptCompression === undefined &&
    request.headers.some(([name, value]) => /encoding$/.test(name) && value === "gzip"),
  expected: (stock) =>
    withCode(stock, {
      message: "decompression failed",
      from: Code.Internal,
      to: Code.InvalidArgument,
      isCause: true,
    }),
  examples: (["connect", "grpc", "grpc-web"] as const).map((protocol) => {
    const { body, ...request } = createRequest({
      protocol,
      http: "2",
      compression: "gzip",
      message: { string: "a" },
    });
    return {
      what: "gzip cut short",
      setup: {},
      script: echo(),
      request: { ...request, body: body.map((bytes) => cutShort(bytes, protocol !== "connect")) },
    };
  }),
};

const deadlineClamped: Difference = {
  name: "a deadline that no timer can hold is as good as none",
  why: "A timer over 2^31 - 1 ms fires at once: stock gives up a call that may last for weeks.",
  isInEffect: true,
  applies: ({ request, script }) =>
    script.implementation.ends.do === "wait a moment" &&
    request.headers.some(
      ([name, value]) => /timeout/.test(name) && /^(\d{10}|\d{4,8}H)$/.test(value),
    ),
  expected: (stock) => ({
    ...stock,
    seen: stock.seen.map((seen) =>
      seen["at"] === "a moment later" ? { ...seen, signal: "open" } : seen,
    ),
  }),
  examples: [
    ["connect", "connect-timeout-ms", "9999999999"] as const,
    ["grpc", "grpc-timeout", "99999999H"] as const,
    ["grpc-web", "grpc-timeout", "1000H"] as const,
  ].map(([protocol, name, value]) =>
    example(
      { protocol, http: "2", headers: [[name, value]] },
      { script: { look: "never", implementation: { ends: { do: "wait a moment" } } } },
    ),
  ),
};

const exactIntegers: Difference = {
  name: "64-bit integers in JSON are exact",
  why: "Stock reads a JSON number through a double, and stores the next one to it past 2^53.",
  isInEffect: true,
  applies: ({ setup, request }) => setup.plainJson === true && /993/.test(textOf(request)),
  expected: (stock) => ({
    ...stock,
    body: stock.body.map(({ data, ...piece }) => ({
      ...piece,
      data: data.replace('992"', '993"'),
    })),
  }),
  examples: (["connect", "grpc", "grpc-web"] as const).map((protocol) =>
    plainly({ protocol, http: "2", bytes: Buffer.from('{"int64":9007199254740993}') }),
  ),
};

const lossyJson: Difference = {
  name: "JSON that cannot be read without loss is refused",
  why:
    "Stock replaces invalid UTF-8, keeps the last of two members, and takes hexadecimal for an " +
    "integer. Ours refuses, and says which field it is.",
  isInEffect: true,
  applies: ({ setup, request }) =>
    setup.plainJson === true && request.path === echoPath && !/993/.test(textOf(request)),
  expected(stock, { request }) {
    const refusal = refusalOf(request);
    if (refusal === undefined) return stock;
    const text = JSON.stringify(errorToJson(refusal, undefined));
    const length = Buffer.byteLength(text);
    return {
      ...answered(stock, request, { "content-type": "application/json" }, length),
      status: 400,
      body: [{ compressed: "no", data: `text ${text}` }],
      seen: [],
    };
  },
  examples: ['{"string":"\xff"}', '{"int32":1,"int32":2}', '{"int64":"0x10"}', '{"int64":""}'].map(
    (text) => plainly({ protocol: "connect", bytes: Buffer.from(text, "latin1") }),
  ),
};

const malformedMessage: Difference = {
  name: "a malformed message is its sender's fault",
  why: "Stock calls bytes that are no message of protobuf an internal error; ours invalid_argument.",
  isInEffect: true,
  applies: () => true,
  expected: (stock) =>
    withCode(stock, {
      message: "parse binary: ",
      from: Code.Internal,
      to: Code.InvalidArgument,
    }),
  examples: (["connect", "connect-get", "grpc", "grpc-web"] as const).flatMap((protocol) => [
    example({ protocol, bytes: Buffer.from([0x72, 9]) }),
    example({ protocol, http: "2", bytes: Buffer.from([0x77, 1]) }),
  ]),
};

const signalAfterSuccess: Difference = {
  name: "a call that has succeeded is not aborted",
  why:
    "Stock aborts the signal of a call that has succeeded, with an AbortError: what listens to " +
    "it fails behind the answer. Ours leaves it open.",
  isInEffect: true,
  applies: ({ request }) => typeof request.end !== "object",
  expected: (stock) =>
    hasSucceeded(stock) ? { ...stock, seen: stock.seen.flatMap(withoutAbort) } : stock,
  examples: (["connect", "connect-get", "grpc", "grpc-web"] as const).map((protocol) =>
    example({ protocol, http: "2" }),
  ),
};

function withoutAbort(seen: Outcome["seen"][number]): Outcome["seen"] {
  if (/signal \d aborted/.test(String(seen["at"]))) return [];
  return seen["at"] === "afterwards" ? [{ ...seen, signal: "open" }] : [seen];
}

export const differences: readonly Difference[] = [
  notAllowed,
  notFound,
  wrongHost,
  noHost,
  absoluteTarget,
  contextValuesThrow,
  neverAnswered,
  truncatedGzip,
  deadlineClamped,
  exactIntegers,
  lossyJson,
  malformedMessage,
  signalAfterSuccess,
];

interface Rest {
  readonly setup?: Setup;
  readonly script?: Script;
  readonly change?: { readonly method?: string; readonly path?: string };
}

function example(spec: CallSpec, { setup = {}, script = echo(), change = {} }: Rest = {}): Case {
  const request = { ...createRequest({ message: { string: "a" }, ...spec }), ...change };
  const what = `${spec.protocol}, HTTP/${request.http}, ${request.method} ${request.path}`;
  return { what, setup, script, request };
}

function failing(
  spec: CallSpec,
  error: Omit<Extract<ErrorSpec, { kind: "connect" }>, "kind" | "code">,
) {
  const thrown = { kind: "connect", code: 3, ...error } as const;
  return example(spec, {
    script: { implementation: { ends: { do: "throw", error: thrown, async: true } } },
  });
}

/** The right answer to a request with which stock had nothing to do. */
function echoed(stock: Outcome, { request }: Case): Outcome {
  return {
    ...answered(stock, request, { "content-type": "application/proto" }, 3),
    status: 200,
    body: [{ compressed: "no", data: "hex 720161" }],
    reported: [],
    seen: [{ at: "implementation" }],
  };
}

function echo(): Script {
  return { implementation: { ends: { do: "echo" } } };
}

/** JSON, to a stock adapter that reads it as it does. */
function plainly(spec: CallSpec): Case {
  const script: Script = { look: "never", implementation: { ends: { do: "echo" } } };
  const given = example({ ...spec, codec: "json" }, { setup: { plainJson: true }, script });
  return { ...given, what: `${given.what}, ${textOf(given.request)}` };
}

function textOf({ body }: Case["request"]): string {
  return Buffer.concat(body).toString("latin1");
}

/** Why the gateway refuses a body, if it does: its decoder has tests of its own. */
function refusalOf({ body }: Case["request"]): ConnectError | undefined {
  try {
    exactJsonDecoder(EveryFieldSchema, { ignoreUnknownFields: true }).decode(Buffer.concat(body));
    return undefined;
  } catch (error) {
    return ConnectError.from(error);
  }
}

function cutShort(bytes: Uint8Array, isEnveloped: boolean): Uint8Array {
  const short = Buffer.from(bytes.subarray(0, -4));
  if (isEnveloped) short.writeUInt32BE(short.length - 5, 1);
  return short;
}

function mentions(script: Script, text: RegExp): boolean {
  return text.test(JSON.stringify(script));
}

function valuesOf(headers: readonly Field[], name: string): string[] {
  return headers.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value);
}

/** Without the prefix; empty where that does not stand before it. */
function pathOf({ request, setup }: Case): string {
  const { requestPathPrefix: prefix = "" } = setup;
  const [path = ""] = request.path.split("?");
  return path.startsWith(prefix) ? path.slice(prefix.length) : "";
}

const rpcPaths = new Set(
  [FieldService, LibraryService]
    .flatMap(({ methods }) => methods)
    .map(({ parent, name }) => `/${parent.typeName}/${name}`),
);

function isRpcPath(given: Case): boolean {
  return rpcPaths.has(pathOf(given));
}

/** FieldService.Echo alone has no side effects, and GET is Connect's alone. */
function allowedMethods(given: Case): string[] {
  const { connect = true } = given.setup.service ?? given.setup;
  return connect && pathOf(given) === echoPath ? ["POST", "GET"] : ["POST"];
}

function withHeader(outcome: Outcome, name: string, value: string): Outcome {
  const headers = { ...outcome.headers, [name]: [value] };
  return { ...outcome, headers: sorted(headers) };
}

function sorted<T>(values: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(values).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
