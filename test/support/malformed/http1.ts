/**
 * Invalid HTTP/1.1 requests, byte by byte, and how each is rejected. target.test.ts of the gateway
 * has every form of a host.
 */
import { Code } from "@connectrpc/connect";
import { knownToken } from "../test-server.ts";

export const plant = '{"id":1,"name":"Basil"}';
export const bodyBytesMax = 64 * 1024;

/** Parts of a valid request to replace. */
interface Parts {
  readonly line?: string;
  readonly host?: string;
  /** Header lines that frame the body, instead of Content-Length. */
  readonly framing?: string;
  readonly more?: string;
  readonly body?: string;
  readonly bytes?: string;
}

function bytesOf({ line = "POST /plants HTTP/1.1", body = plant, ...parts }: Parts): Buffer {
  const { host = "Host: a\r\n", framing = `Content-Length: ${body.length}\r\n`, more = "" } = parts;
  const head =
    `${line}\r\n${host}Authorization: Bearer ${knownToken}\r\n` +
    `Content-Type: application/json\r\nConnection: close\r\n${framing}${more}\r\n`;
  return Buffer.from(parts.bytes ?? head + body, "latin1");
}

const chunked = "Transfer-Encoding: chunked\r\n";
const chunks = (body: string) => ({ framing: chunked, body });
const ofLength = (length: string | number) => ({ framing: `Content-Length: ${length}\r\n` });
const noBody = (line: string) => ({ line, framing: "", body: "" });

type Row = readonly [what: string, bytes: Buffer, status: number, error: Code];

function refused(status: number, error: Code, requests: Readonly<Record<string, Parts>>): Row[] {
  return Object.entries(requests).map(([what, parts]) => [what, bytesOf(parts), status, error]);
}

export const rows: readonly Row[] = [
  ...refused(400, Code.InvalidArgument, {
    "no Host": { host: "" },
    "two Hosts": { host: "Host: a\r\nHost: b\r\n" },
    "a check of health without a Host": { ...noBody("GET /healthz HTTP/1.1"), host: "" },
    "a check of health with two": { line: "GET /healthz HTTP/1.1", host: "Host: a\r\nHost: b\r\n" },
    "no method": { line: "/plants HTTP/1.1" },
    "an unknown method": { line: "PLANT /plants HTTP/1.1" },
    "a greeting of TLS": { bytes: "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" },
    "a preface that goes wrong": { bytes: "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n" },
    "a header without a colon": { more: "Garbage\r\n" },
    "a negative length": ofLength(-1),
    "two lengths": ofLength("23\r\nContent-Length: 24"),
    "a length and chunks": { framing: `Content-Length: 5\r\n${chunked}`, body: "0\r\n\r\n" },
    "chunks in HTTP/1.0": { line: "POST /plants HTTP/1.0", ...chunks("0\r\n\r\n") },
    "a chunk size of letters": chunks("zz\r\n"),
    "a chunk longer than its size": chunks("2\r\n{}}\r\n0\r\n\r\n"),
    "chunks that hold half a plant": chunks('6\r\n{"id":\r\n0\r\n\r\n'),
  }),
  ...refused(431, Code.ResourceExhausted, {
    "a header of 2 MB": { more: `X: ${"x".repeat(2_000_000)}\r\n` },
    "many headers over the limit": { more: "X: x\r\n".repeat(4000) },
    "a target over the limit": { line: `POST /${"x".repeat(20_000)} HTTP/1.1` },
  }),
  ...refused(413, Code.ResourceExhausted, {
    "a length over the limit, and no body": { ...ofLength(bodyBytesMax + 1), body: "" },
    "a length of 2^53": { ...ofLength(2 ** 53), body: "" },
    "chunks over the limit": chunks(`ffff\r\n${" ".repeat(0xffff)}\r\n`.repeat(2)),
  }),
  ...refused(405, Code.Unimplemented, {
    CONNECT: noBody("CONNECT a:80 HTTP/1.1"),
    TRACE: noBody("TRACE /plants HTTP/1.1"),
  }),
  ...refused(404, Code.NotFound, {
    "OPTIONS *": noBody("OPTIONS * HTTP/1.1"),
    "a target with another scheme": { line: "POST ftp://a/plants HTTP/1.1" },
  }),
  ...refused(417, Code.InvalidArgument, {
    "an expectation that nobody knows": { more: "Expect: the-unexpected\r\n" },
  }),
  ...refused(401, Code.Unauthenticated, {
    "a token that holds a comma": {
      bytes:
        "POST /plants HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" +
        `Authorization: Bearer ${knownToken}, Bearer x\r\n\r\n`,
    },
  }),
];
