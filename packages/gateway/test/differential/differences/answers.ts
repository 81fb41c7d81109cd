/** Headers and errors that Node does not write, and those that the application must not write. */
import { Code } from "@connectrpc/connect";
import type { Case } from "../case.ts";
import { rest } from "../difference-outcomes.ts";
import type { Outcome } from "../outcome.ts";
import type { Setup } from "../setup.ts";
import {
  type Difference,
  echo,
  example,
  failing,
  isEnveloped,
  isUnary,
  mapStrings,
  mentions,
} from "./difference.ts";

const unwritable: Difference = {
  name: "a handler that fails itself has an answer",
  why:
    "Where an answer cannot be written (a detail that is no message; over HTTP/1.1, a field Trailer), " +
    "stock reports it, and leaves the client waiting. Ours reports the same, and answers.",
  applies: ({ request, script }) =>
    mentions(script, /"broken"/) || (request.http !== "2" && mentions(script, /"trailer"/)),
  expected(stock, given) {
    const [reported] = stock.reported as readonly {
      code?: number;
      rawMessage?: string;
      cause?: unknown;
    }[];
    if (stock.end !== "never answered" || reported === undefined) return stock;
    if (reported.rawMessage?.startsWith("Trailers are invalid")) {
      const failure = { status: 500, code: Code.Internal, message: "internal error" };
      return { ...rest(stock, given, failure), reported: [reported.cause] };
    }
    const { code = Code.Internal, rawMessage: message = "internal error" } = reported;
    return rest(stock, given, { status: 500, code, message });
  },
  examples: [
    failing({ protocol: "connect" }, { message: "no", details: ["broken"] }),
    example(
      { protocol: "connect" },
      { script: { implementation: { headers: [["trailer", "a"]], ends: { do: "echo" } } } },
    ),
  ],
};

const loneSurrogate: Difference = {
  name: "a lone surrogate in the message of an error is replaced",
  why:
    "It has no form in UTF-8: over gRPC and gRPC-Web stock reports that, and never answers; over " +
    "Connect it answers JSON that strict parsers refuse. Ours answers the error with U+FFFD.",
  applies: ({ script }) => mentions(script, loneInJson),
  like: ({ script, ...given }) => ({
    ...given,
    script: JSON.parse(JSON.stringify(script).replaceAll(loneInJson, "\ufffd")),
  }),
  // The application itself sees what it has thrown.
  expected: (stock) => ({
    ...stock,
    seen: mapStrings(stock.seen, (text) => text.replaceAll("\ufffd", "\ud800")),
  }),
  examples: [
    failing({ protocol: "grpc", http: "2" }, { message: "\ud800" }),
    failing({ protocol: "grpc-web" }, { message: "\ud800" }),
    failing({ protocol: "connect" }, { message: "a\ud800b" }),
  ],
};

const loneInJson = /\\ud800/g;

const connectionFields: Difference = {
  name: "fields of a connection are left out over HTTP/2",
  why:
    "RFC 9113 section 8.2.2 has no place for Keep-Alive or Upgrade: where the application sets one, " +
    "stock reports it, and resets the stream or never ends it. Ours sends the rest.",
  applies: ({ request, script }) =>
    request.http === "2" && mentions(script, /"(te|keep-alive|upgrade|connection)"/),
  like: (given) => withNames(given, ofConnection),
  expected: (stock) => withoutMarked(stock),
  examples: [
    failing({ protocol: "connect", http: "2" }, { message: "no", metadata: [["upgrade", "a"]] }),
    ...(["connect", "grpc", "grpc-web"] as const).map((protocol) =>
      example(
        { protocol, http: "2" },
        { script: { implementation: { headers: [["keep-alive", "a"]], ends: { do: "echo" } } } },
      ),
    ),
  ],
};

const ofConnection = new Set(["te", "keep-alive", "upgrade", "connection"]);

const ownLength: Difference = {
  name: "the length of an answer is not the application's to tell",
  why:
    "Over gRPC and gRPC-Web, stock sends the Content-Length that the application sets: on HTTP/1.1 " +
    "the answer breaks the connection, on HTTP/2 the stream. Ours tells its own, or none.",
  applies: (given) =>
    isEnveloped(given) && isUnary(given) && mentions(given.script, /"content-length"/),
  like: (given) => withNames(given, length),
  expected: (stock) => withoutMarked(stock),
  examples: (["grpc", "grpc-web"] as const).flatMap((protocol) =>
    (["1.1", "2"] as const).map((http) =>
      example(
        { protocol, http },
        {
          script: { implementation: { headers: [["content-length", "0"]], ends: { do: "echo" } } },
        },
      ),
    ),
  ),
};

const length = new Set(["content-length"]);

/** Marks names in the script: the fields are no longer the same, but keep their order. */
function withNames(given: Case, names: ReadonlySet<string>): Case {
  const { implementation, interceptors, gate, ...script } = given.script;
  const acts = { implementation, interceptors, gate };
  return { ...given, script: { ...script, ...(marked(acts, names) as Case["script"]) } };
}

function marked(value: unknown, names: ReadonlySet<string>): unknown {
  if (typeof value === "string") return names.has(value) ? `${value}~` : value;
  if (Array.isArray(value)) return value.map((item) => marked(item, names));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(
    entries.map(([name, item]) => {
      // Both sides ignore a length in the metadata of an error.
      const isPassedOver = name === "metadata" && names === length;
      return [name, isPassedOver ? item : marked(item, names)];
    }),
  );
}

function withoutMarked(outcome: Outcome): Outcome {
  const unmark = (text: string) => text.replaceAll(/([a-z])~/g, "$1");
  const { headers, trailers } = outcome;
  const sent = { ...outcome, headers: unmarked(headers), trailers: unmarked(trailers) };
  return mapStrings(sent, unmark);
}

/** Removes marked fields. A field that begins with `trailer-` is an ordinary header. */
function unmarked(fields: Outcome["headers"]): Outcome["headers"] {
  return Object.fromEntries(
    Object.entries(fields).filter(([name]) => !name.endsWith("~") || name.startsWith("trailer-")),
  );
}

const replacedResponse: Difference = {
  name: "headers that an interceptor replaces are replaced whole",
  why:
    "Where an interceptor answers with headers of its own, stock deletes those of the call while it " +
    "iterates: it forgets some, loses the content type and the status of gRPC, and keeps the last of " +
    "several cookies. Ours deletes all of the application's, and keeps what the protocol needs.",
  applies: (given) =>
    isUnary(given) && mentions(given.script, /"(replace response|answer|recover)"/),
  like: ({ setup, ...given }) => ({ ...given, setup: repaired(setup) }),
  expected: (stock) => stock,
  examples: (["connect", "grpc", "grpc-web"] as const).map((protocol) =>
    example(
      { protocol, http: "2" },
      {
        setup: { interceptors: 1 },
        script: {
          interceptors: [{ do: "replace response", header: [["x-new", "1"]], trailer: [] }],
          ...echo(),
        },
      },
    ),
  ),
};

/**
 * Options that a service does not set come from the router. Set for the service, they would replace
 * the repair.
 */
function repaired({ service, ...setup }: Setup): Setup {
  if (service === undefined) return { ...setup, repaired: true };
  const { gate = false, interceptors = 0 } = { ...setup, ...service };
  return { ...setup, service: { ...service, gate, interceptors, repaired: true } };
}

const challenge: Difference = {
  name: "a 401 says how to authenticate",
  why: "Stock answers a bare 401 where the error names no scheme. RFC 9110 section 15.5.2 wants one.",
  applies: () => true,
  expected(stock) {
    const has = "www-authenticate" in stock.headers;
    if (stock.status !== 401 || has) return stock;
    const headers = { ...stock.headers, "www-authenticate": ["Bearer"] };
    return { ...stock, headers: sorted(headers), seen: stock.seen.map(withChallenge) };
  },
  examples: (["connect", "connect-get"] as const).flatMap((protocol) =>
    (["1.1", "2"] as const).map((http) =>
      failing({ protocol, http }, { code: Code.Unauthenticated, message: "no" }),
    ),
  ),
};

/** Who looks after the call sees it, too. */
function withChallenge(seen: Outcome["seen"][number]): Outcome["seen"][number] {
  const { at, responseHeader: fields } = seen;
  if (!Array.isArray(fields) || !`${at}`.endsWith(", later")) return seen;
  const responseHeader = [...fields, ["www-authenticate", "Bearer"]].toSorted(byName);
  return { ...seen, responseHeader };
}

function byName([a]: readonly unknown[], [b]: readonly unknown[]): number {
  return `${a}` < `${b}` ? -1 : 1;
}

function sorted(headers: Outcome["headers"]): Outcome["headers"] {
  return Object.fromEntries(Object.entries(headers).toSorted(byName));
}

const unreadRest: Difference = {
  name: "over HTTP/1.1, an answer does not wait for the rest of the body",
  why:
    "From 2.3.0 on, stock reads up to 256 KiB of the rest before it answers, and closes the connection " +
    "if more is left. Ours answers at once, discards the rest, and keeps the connection.",
  applies: ({ request }) => request.http !== "2" && request.method === "POST",
  like: ({ request, ...given }) => ({
    ...given,
    request: request.end === "open" ? { ...request, end: "whole" } : request,
  }),
  expected(stock, { request }) {
    const isLong = Buffer.concat(request.body).length > 256 * 1024;
    if (!isLong || stock.headers["connection"]?.[0] !== "close") return stock;
    const kept = { connection: ["keep-alive"], "keep-alive": ["timeout=60"] };
    return { ...stock, headers: sorted({ ...stock.headers, ...kept }) };
  },
  examples: [
    example(
      { protocol: "connect", message: { string: "a".repeat(300_000) } },
      { setup: { readMaxBytes: 2 } },
    ),
  ],
};

const twice = {
  appended: [
    ["x-bytes-bin", "AAE"],
    ["x-bytes-bin", "AP8B"],
  ],
  ends: { do: "echo" },
} as const;

const severalBytes: Difference = {
  name: "several values of bytes are a field each",
  why:
    "Stock joins them. gRPC wants receivers to split such values, but grpc-go fails the call: " +
    "illegal base64 data.",
  applies: ({ script }) => mentions(script, /-bin"/),
  expected: (stock) => ({
    ...stock,
    headers: withBytesApart(stock.headers),
    trailers: withBytesApart(stock.trailers),
  }),
  examples: (["connect", "grpc", "grpc-web"] as const).flatMap((protocol) =>
    (["1.1", "2"] as const).map((http) =>
      example({ protocol, http }, { script: { implementation: twice } }),
    ),
  ),
};

function withBytesApart(fields: Outcome["headers"]): Outcome["headers"] {
  return Object.fromEntries(
    Object.entries(fields).map(([name, values]) => [
      name,
      name.endsWith("-bin") ? values.flatMap((value) => value.split(/\s*,\s*/)) : values,
    ]),
  );
}

export const answers: readonly Difference[] = [
  unwritable,
  loneSurrogate,
  connectionFields,
  ownLength,
  replacedResponse,
  challenge,
  unreadRest,
  severalBytes,
];
