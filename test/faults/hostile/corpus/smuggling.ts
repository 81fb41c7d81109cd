/**
 * HTTP/1.1 requests that two readers may interpret differently. Each contains another request in
 * its body, with a valid token. The plant of that request is stored only if a server continues to
 * parse in the middle of a body.
 */
import { plantOverHttp1 } from "../../../support/plant-request.ts";
import type { Random } from "../../random.ts";
import type { BytesAttack } from "../attack.ts";
import { http1, strangerToken } from "../wire.ts";

/** The lines that frame a body, and its content. The inner request must stay part of the body. */
type Framing = readonly [what: string, lines: string, body: string];

/** Header lines that a reader may interpret as chunked, above a length that covers everything. */
const unclearCodings = [
  ...[": xchunked", " : chunked", "\t: chunked", ":\x0bchunked", ": \x00chunked"],
  ...[": chunked, identity", ": identity, chunked", ": chunked, chunked", ": chunked;q=1"],
  ...[': "chunked"', ": 'chunked'", ": chunke\xe4d", ": CHUNKED ,", ":\r\n chunked"],
  "\r\n : chunked",
  ": chunked\r\nTransfer-Encoding: identity",
  ": identity\r\nTransfer-Encoding: chunked",
  ": chunked\r\nTransfer-Encoding: cow",
]
  .map((rest) => `Transfer-Encoding${rest}`)
  .concat(
    " Transfer-Encoding: chunked",
    "X: x\rTransfer-Encoding: chunked",
    "X: x\nTransfer-Encoding: chunked",
    "X: x\r\n\tTransfer-Encoding: chunked",
    "Transfer_Encoding: chunked",
  );

/** In place of the colon and value; N is the length. */
const unclearLengths = [
  ...[": 0\r\nContent-Length: N", ": N\r\nContent-Length: 0", ": 0, N", ": N, 0", ": +N"],
  ...[": 0x0\r\nContent-Length: N", ": N\r\nContent-Length : 0", ": N\r\n Content-Length: 0"],
  ...[": N\nContent-Length: 0", ": N\rContent-Length: 0", ": 0N\r\nContent-Length: 0"],
  ...[": 00\r\nContent-Length: N", ": \r\n N", ": -0\r\nContent-Length: N", ": N;0"],
  ...[": 1e1\r\nContent-Length: N", ":\x0c0\r\nContent-Length: N"],
  `: ${2n ** 64n}`, // wraps around to 0
].map((rest) => `Content-Length${rest}`);

const extensions = [
  ...[";x", ";x=y", ';x="y"', ';x="\r\n', ";x\n", ";\nxx", ";x\r", ";\0", " ;x", "\t", " "],
  ...[`;${"x".repeat(17_000)}`, ";x=\xff"],
];

/** N is the size. The last one wraps around to 0 at 64 bits. */
const unclearSizes = ["0xN", "+N", "-N", "Nh", "N_0", " N", "0;N", "10000000000000000"];

function framingsOf(inner: string): readonly Framing[] {
  const size = inner.length.toString(16);
  const ended = `0\r\n\r\n${inner}`;
  /** One chunk with the inner request, and the end. */
  const chunk = (extension = "") => `${size}${extension}\r\n${inner}\r\n0\r\n\r\n`;
  const chunked = "Transfer-Encoding: chunked\r\n";
  const length = (bytes: number) => `Content-Length: ${bytes}\r\n`;
  return [
    ...unclearCodings.flatMap((line): Framing[] => [
      [`a length and ${JSON.stringify(line)}`, `${length(ended.length)}${line}\r\n`, ended],
      [`${JSON.stringify(line)} and no length`, `${line}\r\n`, chunk()],
    ]),
    ...unclearLengths.map((line): Framing => {
      const clear = line.replace(/N(?=\W|$)/g, String(inner.length));
      return [JSON.stringify(line), `${clear}\r\n`, inner];
    }),
    ...extensions.map((extension): Framing => {
      const shown = JSON.stringify(extension.slice(0, 20));
      return [`the chunk extension ${shown}`, chunked, chunk(extension)];
    }),
    ...unclearSizes.map((unclear): Framing => {
      const body = `${unclear.replace("N", size)}\r\n${inner}\r\n0\r\n\r\n`;
      return [`the chunk size ${unclear}`, chunked, body];
    }),
    ["a length that is right, and chunks", chunked + length(chunk().length), chunk()],
    ["a chunk that ends with LF alone", chunked, `${size}\r\n${inner}\n0\r\n\r\n`],
    ["a length among the trailers", chunked, `${chunk().slice(0, -2)}${length(0)}\r\n`],
  ];
}

/** @param id The id of the inner request's plant. Nobody else requests it. */
export function smuggle(id: bigint, random: Random): BytesAttack {
  const inner = plantOverHttp1(`{"id":${id},"name":"smuggled"}`);
  const [what, lines, body] = random.pick(framingsOf(inner));
  const first = random.pick(["POST /plants", "GET /plants", "POST /nowhere"]);
  const more = random.pick(["", "Connection: keep-alive\r\n", "Connection: Transfer-Encoding\r\n"]);
  const rest = `Content-Type: application/json\r\n${more}${lines}\r\n${body}`;
  const bytes = http1(first, strangerToken, rest);
  return { what: `smuggling behind ${first}: ${what}`, version: "1.1", bytes };
}
