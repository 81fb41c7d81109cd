/** gRPC-Web text: valid and invalid base64. */
import { base64 } from "../base64.ts";
import type { WireRequest } from "../case.ts";
import type { CallSpec } from "../request.ts";
import type { Script } from "../script.ts";
import type { Setup } from "../setup.ts";
import { createRow, type Door, echo, type Row, unlike } from "./table.ts";

const isWeb = ({ protocol }: Door): boolean => protocol === "grpc-web";

/** @param encode Converts the body from bytes to the chunks of text to send. */
function inText(
  what: string,
  encode: (bytes: Buffer) => readonly string[],
  rest: {
    readonly call?: Partial<CallSpec>;
    readonly setup?: Setup;
    readonly script?: Script;
    readonly type?: string;
  } = {},
): Row {
  const { setup = { gate: true, interceptors: 1 }, script = echo, call = {}, type } = rest;
  return createRow({
    unlike: unlike.text,
    what: `in text: ${what}`,
    on: isWeb,
    setup,
    script,
    call,
    change: (request, { http }) => ({
      ...request,
      headers: request.headers.map(([name, value]) => [
        name,
        name === "content-type" ? (type ?? value.replace("grpc-web", "grpc-web-text")) : value,
      ]),
      body: encode(Buffer.concat(request.body)).map((text) => Buffer.from(text, "latin1")),
      ...(http === "1.1" && chunked),
    }),
  });
}

const chunked: Pick<WireRequest, "framing"> = { framing: "chunked" };
const whole = (bytes: Buffer) => [base64.encode(bytes)];

/** The head of the envelope and its message, each with its own padding. */
const apart = (bytes: Buffer) => [bytes.subarray(0, 5), bytes.subarray(5)].map(base64.encode);

function inPieces(text: string, length: number): string[] {
  return text.match(new RegExp(`.{1,${length}}`, "gs")) ?? [];
}

const throwing: Script = {
  implementation: {
    headers: [["x-header", "1"]],
    trailers: [["x-trailer", "2"]],
    ends: {
      do: "throw",
      error: { kind: "connect", code: 5, message: "no \u00e9", details: ["retry"] },
    },
  },
};

const refusing: Script = {
  ...echo,
  gate: { do: "refuse", error: { kind: "connect", code: 16, message: "no" } },
};

const right: readonly Row[] = [
  inText("a message", whole),
  inText("a message, to a type without a codec", whole, { type: "application/grpc-web-text" }),
  inText("padding in the midst", (bytes) => [apart(bytes).join("")]),
  inText("padding in the midst, in two chunks", apart),
  ...[1, 2, 3, 5].map((length) =>
    inText(`chunks of ${length}`, (bytes) => inPieces(apart(bytes).join(""), length)),
  ),
  inText("a long message", whole, { call: { message: { string: "\u00e9".repeat(50_000) } } }),
  inText("compressed", whole, {
    call: { compression: "gzip", headers: [["grpc-accept-encoding", "gzip"]] },
    setup: { compressMinBytes: 1 },
  }),
  inText("an error", whole, { script: throwing }),
  inText("an error of the gate", whole, { script: refusing }),
  inText("no bytes", () => []),
  inText("two messages", (bytes) => [base64.encode(bytes), base64.encode(bytes)]),
  inText("a message cut short", (bytes) => [base64.encode(bytes.subarray(0, -1))]),
  inText("a message that is too large", whole, { setup: { readMaxBytes: 1 } }),
];

const wrong: readonly Row[] = [
  ["other letters", "AAAA!!!!"],
  ["letters of URLs", "AA-_"],
  ["a group that is cut short", "AAAAAAA"],
  ["a letter alone", "A"],
  ["too much padding", "A==="],
  ["padding alone", "===="],
  ["padding within a group", "AA=A"],
  ["a line break", "AAAA\r\nAA"],
  ["spaces", "AA A"],
].map(([what = "", text = ""]) => inText(`not base64: ${what}`, () => [text]));

export const textRows: readonly Row[] = [...right, ...wrong];
