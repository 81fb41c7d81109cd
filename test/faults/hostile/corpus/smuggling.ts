/**
 * HTTP/1.1 requests that two readers may interpret differently. Each contains another request in
 * its body, with a valid token. The plant of that request is stored only if a server continues to
 * parse in the middle of a body.
 */
import { knownToken } from "../../../support/test-server.ts";
import type { Random } from "../../random.ts";
import type { BytesAttack } from "../attack.ts";
import { strangerToken } from "./tokens.ts";

interface Framing {
  readonly what: string;
  /** The lines that frame the body, and its content. `inner` must stay part of the body. */
  frame(inner: string, random: Random): { readonly lines: string; readonly body: string };
}

const chunked = "Transfer-Encoding: chunked\r\n";

/** One chunk with the inner request, and the end. */
function chunk(inner: string, extension = ""): string {
  return `${Buffer.byteLength(inner).toString(16)}${extension}\r\n${inner}\r\n0\r\n\r\n`;
}

function lengthOf(text: string): number {
  return Buffer.byteLength(text, "latin1");
}

/** Header lines that a reader may interpret as chunked, above a length that covers everything. */
const unclearCodings = [
  "Transfer-Encoding: xchunked",
  "Transfer-Encoding : chunked",
  "Transfer-Encoding\t: chunked",
  "Transfer-Encoding:\x0bchunked",
  "Transfer-Encoding: \x00chunked",
  "Transfer-Encoding: chunked, identity",
  "Transfer-Encoding: identity, chunked",
  "Transfer-Encoding: chunked, chunked",
  "Transfer-Encoding: chunked;q=1",
  'Transfer-Encoding: "chunked"',
  "Transfer-Encoding: 'chunked'",
  "Transfer-Encoding: chunke\xe4d",
  "Transfer-Encoding: CHUNKED ,",
  "Transfer-Encoding:\r\n chunked",
  "Transfer-Encoding\r\n : chunked",
  " Transfer-Encoding: chunked",
  "X: x\rTransfer-Encoding: chunked",
  "X: x\nTransfer-Encoding: chunked",
  "X: x\r\n\tTransfer-Encoding: chunked",
  "Transfer_Encoding: chunked",
  "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
  "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
  "Transfer-Encoding: chunked\r\nTransfer-Encoding: cow",
] as const;

const unclearLengths = [
  "Content-Length: 0\r\nContent-Length: {length}",
  "Content-Length: {length}\r\nContent-Length: 0",
  "Content-Length: 0, {length}",
  "Content-Length: {length}, 0",
  "Content-Length: +{length}",
  "Content-Length: 0x0\r\nContent-Length: {length}",
  "Content-Length: {length}\r\nContent-Length : 0",
  "Content-Length: {length}\r\n Content-Length: 0",
  "Content-Length: {length}\nContent-Length: 0",
  "Content-Length: {length}\rContent-Length: 0",
  "Content-Length: 0{length}\r\nContent-Length: 0",
  "Content-Length: 00\r\nContent-Length: {length}",
  "Content-Length: \r\n {length}",
  "Content-Length: -0\r\nContent-Length: {length}",
  "Content-Length: 1e1\r\nContent-Length: {length}",
  "Content-Length: {length};0",
  "Content-Length:\x0c0\r\nContent-Length: {length}",
] as const;

const extensions = [
  ";x",
  ";x=y",
  ';x="y"',
  ';x="\r\n',
  ";x\n",
  ";\nxx",
  ";x\r",
  ";\0",
  " ;x",
  "\t",
  " ",
  `;${"x".repeat(17_000)}`,
  ";x=\xff",
] as const;

const unclearSizes = [
  "0x{size}",
  "+{size}",
  "-{size}",
  "{size}h",
  "{size}_0",
  " {size}",
  "0;{size}",
];

const framings: readonly Framing[] = [
  ...unclearCodings.map(
    (line): Framing => ({
      what: `a length and ${JSON.stringify(line)}`,
      frame(inner) {
        const body = `0\r\n\r\n${inner}`;
        return { lines: `Content-Length: ${lengthOf(body)}\r\n${line}\r\n`, body };
      },
    }),
  ),
  ...unclearCodings.map(
    (line): Framing => ({
      what: `${JSON.stringify(line)} and no length`,
      frame: (inner) => ({ lines: `${line}\r\n`, body: chunk(inner) }),
    }),
  ),
  ...unclearLengths.map(
    (line): Framing => ({
      what: JSON.stringify(line),
      frame: (inner) => ({
        lines: `${line.replaceAll("{length}", String(lengthOf(inner)))}\r\n`,
        body: inner,
      }),
    }),
  ),
  ...extensions.map(
    (extension): Framing => ({
      what: `the chunk extension ${JSON.stringify(extension.slice(0, 20))}`,
      frame: (inner) => ({ lines: chunked, body: chunk(inner, extension) }),
    }),
  ),
  ...unclearSizes.map(
    (size): Framing => ({
      what: `the chunk size ${size}`,
      frame(inner) {
        const text = size.replace("{size}", lengthOf(inner).toString(16));
        return { lines: chunked, body: `${text}\r\n${inner}\r\n0\r\n\r\n` };
      },
    }),
  ),
  {
    what: "a length that is right, and chunks",
    frame(inner) {
      const body = chunk(inner);
      return { lines: `${chunked}Content-Length: ${lengthOf(body)}\r\n`, body };
    },
  },
  {
    what: "a length over 64 bits that wraps around to 0",
    frame: (inner) => ({ lines: `Content-Length: ${2n ** 64n}\r\n`, body: inner }),
  },
  {
    what: "a chunk size over 64 bits that wraps around to 0",
    frame: (inner) => ({ lines: chunked, body: `10000000000000000\r\n${inner}` }),
  },
  {
    what: "a chunk that ends with LF alone",
    frame: (inner) => ({
      lines: chunked,
      body: `${lengthOf(inner).toString(16)}\r\n${inner}\n0\r\n\r\n`,
    }),
  },
  {
    what: "a length among the trailers",
    frame: (inner) => ({
      lines: chunked,
      body: `${chunk(inner).slice(0, -2)}Content-Length: 0\r\n\r\n`,
    }),
  },
];

/** @param id The id of the inner request's plant. Nobody else requests it. */
export function smuggle(id: bigint, random: Random): BytesAttack {
  const { what, frame } = random.pick(framings);
  const { lines, body } = frame(innerRequest(id), random);
  const first = random.pick(["POST /plants", "GET /plants", "POST /nowhere"]);
  const more = random.pick(["", "Connection: keep-alive\r\n", "Connection: Transfer-Encoding\r\n"]);
  const head =
    `${first} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${strangerToken}\r\n` +
    `Content-Type: application/json\r\n${more}${lines}\r\n`;
  return {
    kind: "bytes",
    what: `smuggling behind ${first}: ${what}`,
    version: "1.1",
    bytes: Buffer.from(head + body, "latin1"),
  };
}

function innerRequest(id: bigint): string {
  const plant = `{"id":${id},"name":"smuggled"}`;
  return (
    `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${knownToken}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${plant.length}\r\n\r\n${plant}`
  );
}
