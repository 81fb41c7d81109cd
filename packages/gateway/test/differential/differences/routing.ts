/** What is served, and the answer to a request that nothing serves. */
import { Code } from "@connectrpc/connect";
import { mediaTypeOf } from "../../../src/http/headers.ts";
import type { Case, Field } from "../case.ts";
import { answered, rest } from "../difference-outcomes.ts";
import type { Outcome } from "../outcome.ts";
import { echoPath, updatePath } from "../request.ts";
import {
  type Difference,
  echoed,
  example,
  isRpcPath,
  mapStrings,
  pathOf,
  valuesOf,
} from "./difference.ts";

const notAllowed: Difference = {
  name: "a 405 says what is allowed",
  why:
    "Stock answers 405 alone, and 505 where the path is that of a stream in both directions over " +
    "HTTP/1.1. RFC 9110 section 15.5.6 wants Allow with a 405.",
  applies: (given) => !allowedMethods(given).includes(given.request.method) && isRpcPath(given),
  expected(stock, given) {
    const allow = allowedMethods(given).join(", ");
    if (stock.status !== 505) return withHeader(stock, "allow", allow);
    return { ...answered(stock, given.request, { allow }, 0), status: 405 };
  },
  examples: [
    example({ protocol: "connect" }, { change: { method: "PUT" } }),
    example({ protocol: "connect", http: "2" }, { change: { method: "DELETE", path: updatePath } }),
    example({ protocol: "connect-get", path: updatePath }),
    example({ protocol: "connect-get" }, { setup: { connect: false } }),
    example({ protocol: "connect-get", path: "/library.v1.FieldService/Exchange" }),
  ],
};

const notFound: Difference = {
  name: "a 404 has a body",
  why:
    "Stock's own fallback answers an empty 404. Ours serves REST, whose errors have a body; clients " +
    "of RPC get the empty one.",
  applies: (given) =>
    !given.setup.fallback &&
    !isRpcPath(given) &&
    !isRpcClient(given) &&
    !absoluteTarget.applies(given),
  expected: (stock, given) =>
    rest(stock, given, {
      status: 404,
      code: Code.NotFound,
      message: "nothing is served at this path",
    }),
  examples: [
    example({ protocol: "connect", codec: "json", path: "/elsewhere" }),
    example({ protocol: "connect-get", http: "2", path: "/elsewhere" }),
  ],
};

const grpcNotFound: Difference = {
  name: "gRPC that finds no method has a status",
  why:
    "Stock answers a bare 404: clients and load balancers read the status of gRPC, not that of HTTP. " +
    "Ours answers Trailers-Only with 12, unimplemented, as statuscodes.md wants.",
  applies: (given) =>
    !given.setup.fallback && !isRpcPath(given) && !absoluteTarget.applies(given) && isGrpc(given),
  expected(stock, { request }) {
    const headers = {
      "content-type": valuesOf(request.headers, "content-type"),
      "grpc-message": ["nothing is served at this path"],
      "grpc-status": [String(Code.Unimplemented)],
    };
    return { ...stock, status: 200, headers: sorted({ ...stock.headers, ...headers }) };
  },
  examples: (["grpc", "grpc-web"] as const).flatMap((protocol) =>
    (["1.1", "2"] as const).map((http) => example({ protocol, http, path: "/elsewhere" })),
  ),
};

function isGrpc({ request }: Case): boolean {
  return /^application\/grpc/i.test(valuesOf(request.headers, "content-type")[0] ?? "");
}

/** Whether a request is an RPC, according to its headers. */
function isRpcClient({ request: { headers } }: Case): boolean {
  const [type = ""] = valuesOf(headers, "content-type");
  const isRpcType = /^application\/(grpc|connect|proto(?![a-z]))/i.test(type);
  return isRpcType || valuesOf(headers, "connect-protocol-version").length > 0;
}

const hosts = ["a b", "user@host", "a/b", "a:x", "[::1", "a:99999", ""];

const wrongHost: Difference = {
  name: "a host or a target that is none gets a 400",
  why:
    "Stock makes a URL of Host and target outside its promise: where it cannot, it throws into " +
    "the server, which ends the process. Where it can, what it makes is not what was meant.",
  applies: ({ request }) =>
    request.http === "1.1"
      ? hosts.includes(valuesOf(request.headers, "host")[0] ?? "") ||
        valuesOf(request.headers, "host").length > 1
      : /[\u0080-\u00ff]/.test(request.path),
  expected: (stock, given) => ({
    ...rest(stock, given, {
      status: 400,
      code: Code.InvalidArgument,
      message: "Host must name one host, and the target be a percent-encoded path",
    }),
    reported: [],
    seen: [],
  }),
  examples: [
    ...hosts.map((host) => example({ protocol: "connect", headers: [["host", host]] })),
    example({ protocol: "connect", http: "2", path: `${echoPath}?a=\u00c3\u00a9` }),
    example({
      protocol: "grpc-web",
      headers: [
        ["host", "a"],
        ["host", "b"],
      ],
    }),
  ],
};

const twoTypes: Difference = {
  name: "two content types get a 400",
  why: "Stock takes the first of them, and proxies differ in which one counts (RFC 9110 section 5.3).",
  applies: ({ request }) => valuesOf(request.headers, "content-type").length > 1,
  expected: (stock, given) => ({
    ...rest(stock, given, {
      status: 400,
      code: Code.InvalidArgument,
      message: "the header Content-Type must be sent once",
    }),
    reported: [],
    seen: [],
  }),
  examples: [
    example({
      protocol: "connect",
      headers: [
        ["content-type", "application/proto"],
        ["content-type", "application/json"],
      ],
    }),
  ],
};

const noHost: Difference = {
  name: "HTTP/1.0 need not name a host",
  why: "Stock throws into the server where HTTP/1.0 has no Host. Ours takes localhost.",
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
  applies: ({ setup }) => setup.contextValues === "throws",
  expected(stock, given) {
    const [thrown] = stock.reported as readonly { message: string; cause: unknown }[];
    if (thrown?.message !== "thrown to the server") return stock;
    if (notAllowed.applies(given)) {
      const allow = allowedMethods(given).join(", ");
      return { ...answered(stock, given.request, { allow }, 0), status: 405, reported: [] };
    }
    const failure = { status: 500, code: Code.Internal, message: "internal error" };
    return { ...rest(stock, given, failure), reported: [thrown.cause] };
  },
  examples: [
    example({ protocol: "connect" }, { setup: { contextValues: "throws" } }),
    example({ protocol: "grpc", http: "2" }, { setup: { contextValues: "throws" } }),
  ],
};

/** Only FieldService.Echo has no side effects, and only Connect has GET. */
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

const parameters: Difference = {
  name: "parameters do not change a media type",
  why: "Stock refuses them, but for the charset of JSON. RFC 9110 section 8.3.1: they say more of a type.",
  applies: (given) => isRpcPath(given) && plainTypeOf(given) !== undefined,
  like: (given) => {
    const type = plainTypeOf(given) ?? "";
    const headers = given.request.headers.map(
      (field): Field => (field[0].toLowerCase() === "content-type" ? [field[0], type] : field),
    );
    return { ...given, request: { ...given.request, headers } };
  },
  expected: (stock, given) => {
    const [type = ""] = valuesOf(given.request.headers, "content-type");
    const asSent = (text: string) => (text === plainTypeOf(given) ? type : text);
    const seen = stock.seen.map((one) => ({
      ...one,
      ...("requestHeader" in one && { requestHeader: mapStrings(one["requestHeader"], asSent) }),
      ...("header" in one && !("trailer" in one) && { header: mapStrings(one["header"], asSent) }),
    }));
    return { ...stock, seen };
  },
  examples: ["application/proto", "application/grpc+proto", "application/grpc-web+proto"].map(
    (type) => example({ protocol: "connect", headers: [["content-type", `${type}; a=b`]] }),
  ),
};

/** The type of a request without its parameters; undefined if it has none. */
function plainTypeOf({ request }: Case): string | undefined {
  const [type = ""] = valuesOf(request.headers, "content-type");
  return type.includes(";") ? mediaTypeOf(type) || undefined : undefined;
}

export const routing: readonly Difference[] = [
  parameters,
  notAllowed,
  notFound,
  grpcNotFound,
  wrongHost,
  twoTypes,
  noHost,
  absoluteTarget,
  contextValuesThrow,
];
