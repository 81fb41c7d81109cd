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
type Framing = readonly [
  what: string,
  frame: (inner: string) => readonly [lines: string, body: string],
];

const chunked = "Transfer-Encoding: chunked\r\n";

/** One chunk with the inner request, and the end. */
function chunk(inner: string, extension = ""): string {
  return `${sizeOf(inner)}${extension}\r\n${inner}\r\n0\r\n\r\n`;
}

function lengthOf(text: string): number {
  return Buffer.byteLength(text, "latin1");
}

function sizeOf(text: string): string {
  return lengthOf(text).toString(16);
}

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

const framings: readonly Framing[] = [
  ...unclearCodings.flatMap((line): Framing[] => [
    [
      `a length and ${JSON.stringify(line)}`,
      (inner) => {
        const body = `0\r\n\r\n${inner}`;
        return [`Content-Length: ${lengthOf(body)}\r\n${line}\r\n`, body];
      },
    ],
    [`${JSON.stringify(line)} and no length`, (inner) => [`${line}\r\n`, chunk(inner)]],
  ]),
  ...unclearLengths.map(
    (line): Framing => [
      JSON.stringify(line),
      (inner) => [`${line.replace(/N(?=\W|$)/g, String(lengthOf(inner)))}\r\n`, inner],
    ],
  ),
  ...extensions.map(
    (extension): Framing => [
      `the chunk extension ${JSON.stringify(extension.slice(0, 20))}`,
      (inner) => [chunked, chunk(inner, extension)],
    ],
  ),
  ...unclearSizes.map(
    (size): Framing => [
      `the chunk size ${size}`,
      (inner) => [chunked, `${size.replace("N", sizeOf(inner))}\r\n${inner}\r\n0\r\n\r\n`],
    ],
  ),
  [
    "a length that is right, and chunks",
    (inner) => [`${chunked}Content-Length: ${lengthOf(chunk(inner))}\r\n`, chunk(inner)],
  ],
  [
    "a chunk that ends with LF alone",
    (inner) => [chunked, `${sizeOf(inner)}\r\n${inner}\n0\r\n\r\n`],
  ],
  [
    "a length among the trailers",
    (inner) => [chunked, `${chunk(inner).slice(0, -2)}Content-Length: 0\r\n\r\n`],
  ],
];

/** @param id The id of the inner request's plant. Nobody else requests it. */
export function smuggle(id: bigint, random: Random): BytesAttack {
  const [what, frame] = random.pick(framings);
  const [lines, body] = frame(plantOverHttp1(`{"id":${id},"name":"smuggled"}`));
  const first = random.pick(["POST /plants", "GET /plants", "POST /nowhere"]);
  const more = random.pick(["", "Connection: keep-alive\r\n", "Connection: Transfer-Encoding\r\n"]);
  const rest = `Content-Type: application/json\r\n${more}${lines}\r\n${body}`;
  const bytes = http1(first, strangerToken, rest);
  return { what: `smuggling behind ${first}: ${what}`, version: "1.1", bytes };
}
