/** How messages are read. */
import { isUtf8 } from "node:buffer";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import { errorToJson } from "@connectrpc/connect/protocol-connect";
import { EveryFieldSchema } from "../../gen/library/v1/fields_pb.ts";
import { envelope } from "../../support/envelope.ts";
import { exactJsonDecoder } from "../../support/exact-json-decoder.ts";
import type { Case } from "../case.ts";
import { answered, lengthOf, withCode } from "../difference-outcomes.ts";
import { observeReason } from "../observation.ts";
import type { Outcome } from "../outcome.ts";
import { type CallSpec, createRequest, echoPath } from "../request.ts";
import type { Script } from "../script.ts";
import {
  type Difference,
  echo,
  example,
  isEnveloped,
  isRpcPath,
  isUnary,
  mapStrings,
  replaceIn,
  withRequestHeader,
} from "./difference.ts";

const truncatedGzip: Difference = {
  name: "gzip that is cut short is its sender's fault",
  why: "Stock calls it an internal error; ours invalid_argument, as for other data that is wrong.",
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

const tooLarge: Difference = {
  name: "a message over the limit is told in the words of REST",
  why: "Stock has other words for each way to be over the limit, and names its own option.",
  applies: isRpcPath,
  expected(stock) {
    const reworded = mapStrings(stock, inOurWords);
    const [length] = stock.headers["content-length"] ?? [];
    if (length === undefined) return reworded;
    const [encoding] = stock.headers["content-encoding"] ?? [];
    const more = reworded.body.map(({ data, compressed }, i) => {
      const packing = encoding ?? (compressed === "no" ? undefined : "gzip");
      const size = (text = "") => lengthOf(text.slice("text ".length), packing);
      return size(data) - size(stock.body[i]?.data);
    });
    const total = more.reduce((sum, one) => sum + one, Number(length));
    return { ...reworded, headers: { ...reworded.headers, "content-length": [String(total)] } };
  },
  examples: (["connect", "grpc", "grpc-web"] as const).flatMap((protocol) => [
    example({ protocol }, { setup: { readMaxBytes: 2 } }),
    example({ protocol, compression: "gzip" }, { setup: { readMaxBytes: 2 } }),
  ]),
};

/** In text, or percent-encoded. */
function inOurWords(text: string): string {
  const found =
    /message( |%20)(?:size\1(?:\d+\1)?)?is\1larger\1than\1configured\1readMaxBytes\1(\d+)(?:\1after\1decompression)?/g;
  return text.replace(found, (_, space, bytes) =>
    ["a", "message", "must", "not", "be", "larger", "than", bytes, "bytes"].join(space),
  );
}

const exactIntegers: Difference = {
  name: "64-bit integers in JSON are exact",
  why: "Stock reads a JSON number through a double, and stores the next one to it past 2^53.",
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
  applies: isRpcPath,
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

const prefixAlone: Difference = {
  name: "the prefix of an envelope alone is no end",
  why:
    "Stock forgets a prefix whose message never comes, and calls a message that is cut short missing " +
    "or, behind another one, serves the call. Ours says that the envelope is incomplete.",
  applies: (given) => isEnveloped(given) && isUnary(given) && danglingLength(given) > 0,
  // One byte more, or one less in the prefix itself: the stock adapter reports that as incomplete.
  like(given) {
    const body = Buffer.concat(given.request.body);
    const changed =
      danglingLength(given) > 1 ? [...given.request.body, Buffer.of(0)] : [body.subarray(0, -1)];
    return { ...given, request: { ...given.request, body: changed } };
  },
  expected: (stock, { request }) => ({
    ...stock,
    seen: withRequestHeader(stock.seen, "content-length", `${Buffer.concat(request.body).length}`),
  }),
  examples: (["grpc", "grpc-web"] as const).flatMap((protocol) => [
    example({ protocol, body: [Buffer.from([0, 0, 0, 0, 5])] }),
    example({ protocol, http: "2", body: [Buffer.from([0, 0, 0, 0, 1])] }),
    example({ protocol, body: [envelope(""), Buffer.from([0, 0, 0, 0, 5])] }),
  ]),
};

/** The length in a prefix at the end of the body, if nothing of its message follows. */
function danglingLength({ request }: Case): number {
  const body = Buffer.concat(request.body);
  for (let at = 0; at + 5 <= body.length; ) {
    const length = body.readUInt32BE(at + 1);
    at += 5;
    if (at === body.length) return length;
    at += length;
  }
  return 0;
}

const unknownFlags: Difference = {
  name: "flags of an envelope that the protocol does not know are an error",
  why: "Stock ignores them. Ours refuses what they may mean, as grpc-go and connect-go do.",
  applies: (given) => isEnveloped(given) && isUnary(given) && unknownFlagsIn(given) > 0,
  // The stock adapter reports a body that ends in the middle of an envelope.
  like: (given) => ({ ...given, request: { ...given.request, body: [Buffer.of(0)] } }),
  expected(stock, given) {
    const incomplete = "protocol error: incomplete envelope";
    const change = { message: incomplete, from: Code.InvalidArgument, to: Code.Internal };
    const words = JSON.stringify(withCode(stock, change));
    const flags = unknownFlagsIn(given);
    const outcome: Outcome = JSON.parse(
      words
        .replaceAll(incomplete, `protocol error: invalid envelope flags ${flags}`)
        .replaceAll(
          encodeURIComponent(incomplete),
          encodeURIComponent(`protocol error: invalid envelope flags ${flags}`),
        ),
    );
    const length = `${Buffer.concat(given.request.body).length}`;
    return { ...outcome, seen: withRequestHeader(outcome.seen, "content-length", length) };
  },
  examples: (["grpc", "grpc-web"] as const).flatMap((protocol) =>
    [0x02, 0x40, 0x83].map((flags) => example({ protocol, body: [envelope("", flags)] })),
  ),
};

/** The flags of the first envelope that has unknown ones; 0 if there is none, or another error before it. */
function unknownFlagsIn({ request }: Case): number {
  const headers = JSON.stringify(request.headers);
  const known = /grpc-web/.test(headers) ? 0x81 : 1;
  const body = Buffer.concat(request.body);
  for (let at = 0; at + 5 <= body.length; at += 5 + body.readUInt32BE(at + 1)) {
    if (at + 5 + body.readUInt32BE(at + 1) > body.length) return 0;
    const flags = body.readUInt8(at);
    if ((flags & ~known) !== 0) return flags;
    if (/[+]json/.test(headers)) return 0; // the messages of the rows are not
  }
  return 0;
}

const endEnvelope = Buffer.of(0x80, 0, 0, 0, 0);

const extraEnd: Difference = {
  name: "a gRPC-Web body has one end",
  why:
    "Stock passes over any number of envelopes that hold no message, and unpacks each. Ours refuses " +
    "the second: a few bytes of them unpack to more than any limit says.",
  applies: (given) => isUnary(given) && countEnds(given) > 1,
  // The stock adapter rejects a body that ends in the middle of an envelope with the same code.
  like: (given) => ({
    ...given,
    request: { ...given.request, body: [endEnvelope, Buffer.of(0)] },
  }),
  expected(stock, { request }) {
    const words = JSON.stringify(stock).replaceAll(
      /(protocol(?: |%20)error(?::|%3A)(?: |%20))incomplete( |%20)envelope/g,
      "$1received$2an$2extra$2end",
    );
    const outcome: Outcome = JSON.parse(words);
    const length = `${Buffer.concat(request.body).length}`;
    return { ...outcome, seen: withRequestHeader(outcome.seen, "content-length", length) };
  },
  examples: (["1.1", "2"] as const).map((http) =>
    example({ protocol: "grpc-web", http, body: [endEnvelope, endEnvelope, envelope("r\u0001a")] }),
  ),
};

function countEnds({ request }: Case): number {
  if (!/grpc-web/.test(JSON.stringify(request.headers))) return 0;
  const body = Buffer.concat(request.body);
  let count = 0;
  for (let at = 0; at + 5 <= body.length; at += 5 + body.readUInt32BE(at + 1)) {
    if ((body.readUInt8(at) & 0x80) !== 0) count++;
  }
  return count;
}

const cutShortBody: Difference = {
  name: "a body that its client broke off is not taken for whole",
  why:
    "Over HTTP/2, a stream that is reset while the gate works ends, for stock, as if its body were " +
    "whole: what has come of it is parsed, and served. Ours ends the call.",
  applies: (given) => {
    const { end, http } = given.request;
    const isCut = http === "2" && typeof end === "object" && end.unfinished === true;
    return (
      isCut && isUnary(given) && given.script.gate?.do === "announce" && given.script.gate.wait
    );
  },
  expected(stock, given) {
    const failed = isEnveloped(given)
      ? {
          responseTrailer: [
            ["grpc-message", "internal%20error"],
            ["grpc-status", "13"],
          ],
        }
      : { responseHeader: [["content-type", "application/json"]] };
    const { seen } = stock;
    return {
      ...stock,
      seen: [
        ...seen
          .filter(({ at }) => /^(gate|signal)/.test(`${at}`))
          .map((one) => (one["at"] === "gate, later" ? { ...one, ...failed } : one)),
        ...seen.filter(({ at }) => at === "afterwards").slice(0, 1),
      ],
    };
  },
  examples: (["at once", "late"] as const).map((look) =>
    leaving({ protocol: "connect", http: "2" }, look),
  ),
};

/** A client that leaves amid its body, while the gate works. */
function leaving(spec: CallSpec, look: Script["look"] & string): Case {
  const gate = { do: "announce", wait: true } as const;
  const script: Script = { look, gate, implementation: { ends: { do: "echo" } } };
  const given = example(spec, { setup: { gate: true }, script });
  const { body, ...request } = given.request;
  const end = { leave: "reset", unfinished: true } as const;
  return {
    ...given,
    request: { ...request, body: body.map((bytes) => bytes.subarray(0, -1)), end },
  };
}

const leftAmidBody: Difference = {
  name: "a client that leaves amid its body has cancelled its call",
  why:
    "Nobody hears it, but the application's trailers and its log do: stock calls it an internal " +
    "error, ours canceled.",
  applies: (given) => {
    const { end } = given.request;
    return isEnveloped(given) && typeof end === "object" && end.unfinished === true;
  },
  expected: (stock) => ({
    ...stock,
    seen: mapFields(stock.seen, {
      "grpc-message: internal%20error": "the%20client%20has%20left",
      "grpc-status: 13": String(Code.Canceled),
    }),
  }),
  examples: (["grpc", "grpc-web"] as const).map((protocol) => leaving({ protocol }, "late")),
};

/** With other values for fields, by `name: value`. */
function mapFields<T>(value: T, changes: Readonly<Record<string, string>>): T {
  if (!Array.isArray(value)) {
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).map(([name, item]) => [name, mapFields(item, changes)]);
    return Object.fromEntries(entries) as T;
  }
  const changed = changes[value.join(": ")];
  return (
    changed === undefined ? value.map((item) => mapFields(item, changes)) : [value[0], changed]
  ) as T;
}

const badBase64: Difference = {
  name: "a GET whose message is not base64 is its sender's fault",
  why: "Stock calls it an internal error; ours invalid_argument, as for other data that is wrong.",
  applies: (given) => isUnary(given) && given.script.gate?.do !== "refuse" && !isBase64(given),
  expected(stock, { request }) {
    if (
      !stock.body.some(({ data }) => data === 'text {"code":"internal","message":"internal error"}')
    ) {
      return stock;
    }
    const message = "protocol error: the parameter message is not base64";
    const cause = new Error("invalid base64 string");
    const error = new ConnectError(message, Code.InvalidArgument, undefined, undefined, cause);
    const text = JSON.stringify(errorToJson(error, undefined));
    const { reported, seen } = stock;
    const headers = { "content-type": "application/json", ...ownHeaders(stock) };
    return {
      ...answered(stock, request, headers, Buffer.byteLength(text)),
      status: 400,
      body: [{ compressed: "no", data: `text ${text}` }],
      reported,
      seen: replaceIn(seen, observeReason(cause), observeReason(error)),
    };
  },
  examples: ["!!!", "c"].map((message) =>
    example({ protocol: "connect-get", rawQuery: `encoding=proto&base64=1&message=${message}` }),
  ),
};

function isBase64({ request }: Case): boolean {
  const { searchParams } = new URL(request.path, "http://host");
  if (request.method !== "GET" || searchParams.get("base64") !== "1") return true;
  try {
    base64Decode(searchParams.get("message") ?? "");
    return true;
  } catch {
    return false;
  }
}

function ownHeaders({ headers }: Outcome): Record<string, string> {
  const own = Object.entries(headers).filter(([name]) => /^(x-|vary)/.test(name));
  return Object.fromEntries(own.map(([name, values]) => [name, values.join(", ")]));
}

const rawBytes: Difference = {
  name: "bytes in the query of a GET are what they are",
  why: "Stock replaces those of a message that are not UTF-8: the message is another one. Ours keeps them.",
  applies: ({ request }) => request.method === "GET" && rawMessage(request.path) !== undefined,
  like({ request, ...given }) {
    const [path] = request.path.split("?");
    const { searchParams } = new URL(request.path, "http://host");
    searchParams.set("base64", "1");
    searchParams.set("message", rawMessage(request.path)?.toString("base64url") ?? "");
    return { ...given, request: { ...request, path: `${path}?${searchParams}` } };
  },
  expected(stock, given) {
    const { pathname, search } = new URL(given.request.path, "http://host");
    const asked = rawBytes.like?.(given).request.path ?? "";
    return {
      ...stock,
      seen: mapStrings(stock.seen, (text) => text.replace(asked, pathname + search)),
    };
  },
  examples: [
    example({ protocol: "connect-get", rawQuery: "encoding=proto&message=z%01%FF" }),
    example({
      protocol: "connect-get",
      rawQuery: "encoding=json&message=%7B%22string%22%3A%22%FF%22%7D",
    }),
  ],
};

/** The message in a query, if it is not encoded and not UTF-8. */
function rawMessage(path: string): Buffer | undefined {
  const { search, searchParams } = new URL(path, "http://host");
  if (searchParams.get("base64") === "1") return undefined;
  const [, text = ""] = /[?&]message=([^&]*)/.exec(search) ?? [];
  const bytes = Buffer.from(unescape(text.replaceAll("+", " ")), "latin1");
  return isUtf8(bytes) ? undefined : bytes;
}

/** JSON, for a stock adapter that reads it in its own way. */
function plainly(spec: CallSpec): Case {
  const script: Script = { look: "never", implementation: { ends: { do: "echo" } } };
  const given = example({ ...spec, codec: "json" }, { setup: { plainJson: true }, script });
  return { ...given, what: `${given.what}, ${textOf(given.request)}` };
}

function textOf({ body }: Case["request"]): string {
  return Buffer.concat(body).toString("latin1");
}

/** Why the gateway rejects a body, if it does: its decoder has its own tests. */
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

export const messages: readonly Difference[] = [
  truncatedGzip,
  tooLarge,
  exactIntegers,
  lossyJson,
  malformedMessage,
  prefixAlone,
  unknownFlags,
  extraEnd,
  cutShortBody,
  leftAmidBody,
  badBase64,
  rawBytes,
];
