/** Invalid HTTP/1.1 requests, byte by byte, and how each is rejected. */
import { Code } from "@connectrpc/connect";
import { knownToken } from "../test-server.ts";

export const plant = '{"id":1,"name":"Basil"}';

/** The bytes of a request. The row overrides parts of a valid one. */
function requestOf(row: {
  line?: string;
  host?: string;
  /** Header lines that frame the body, instead of Content-Length. */
  framing?: string;
  more?: string;
  body?: string;
}): Buffer {
  const { line = "POST /plants HTTP/1.1", host = "Host: a\r\n", more = "", body = plant } = row;
  const framing = row.framing ?? `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  const head =
    `${line}\r\n${host}Authorization: Bearer ${knownToken}\r\n` +
    `Content-Type: application/json\r\nConnection: close\r\n${framing}${more}\r\n`;
  return Buffer.from(head + body, "latin1");
}

const chunked = "Transfer-Encoding: chunked\r\n";
export const bodyBytesMax = 64 * 1024;

type Row = readonly [what: string, bytes: Buffer, status: number, error: Code];

function refused(status: number, error: Code, requests: Readonly<Record<string, Buffer>>): Row[] {
  return Object.entries(requests).map(([what, bytes]) => [what, bytes, status, error] as const);
}

export const rows: readonly Row[] = [
  ...refused(400, Code.InvalidArgument, {
    "no Host": requestOf({ host: "" }),
    "an empty Host": requestOf({ host: "Host:\r\n" }),
    "a Host with a user": requestOf({ host: "Host: user@a\r\n" }),
    "a Host with a port over 65535": requestOf({ host: "Host: a:65536\r\n" }),
    "a Host with bytes over 127": requestOf({ host: "Host: \xe9\r\n" }),
    "a Host that is no IPv4 address": requestOf({ host: "Host: 1.2.3.256\r\n" }),
    "two Hosts": requestOf({ host: "Host: a\r\nHost: b\r\n" }),
    "an absolute target with a bad host": requestOf({ line: "POST http://[/plants HTTP/1.1" }),
    "an absolute target with no Host": requestOf({
      line: "POST http://a/plants HTTP/1.1",
      host: "",
    }),
    "no version": requestOf({ line: "POST /plants" }),
    "no target": requestOf({ line: "POST HTTP/1.1" }),
    "no method": requestOf({ line: "/plants HTTP/1.1" }),
    "an unknown method": requestOf({ line: "PLANT /plants HTTP/1.1" }),
    "a method in small letters": requestOf({ line: "post /plants HTTP/1.1" }),
    "a method with a NUL": requestOf({ line: "PO\0ST /plants HTTP/1.1" }),
    "a target with a space": requestOf({ line: "POST /pla nts HTTP/1.1" }),
    "a target with a NUL": requestOf({ line: "POST /pla\0nts HTTP/1.1" }),
    "a target without a slash": requestOf({ line: "POST plants HTTP/1.1" }),
    "the version 0.9": requestOf({ line: "POST /plants HTTP/0.9" }),
    "the version 2.0": requestOf({ line: "POST /plants HTTP/2.0" }),
    "the version 1.2": requestOf({ line: "POST /plants HTTP/1.2" }),
    "the version 3.0": requestOf({ line: "POST /plants HTTP/3.0" }),
    "another protocol": requestOf({ line: "POST /plants ICE/1.0" }),
    "a version in small letters": requestOf({ line: "POST /plants http/1.1" }),
    "a greeting of TLS": Buffer.from("\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03", "latin1"),
    "a greeting of SSH": Buffer.from("SSH-2.0-OpenSSH_9.9\r\n"),
    "a preface that goes wrong": Buffer.from("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"),
    "nothing but line breaks, then garbage": Buffer.from("\r\n\r\n\x01\x02\r\n\r\n"),
    "a header without a colon": requestOf({ more: "Garbage\r\n" }),
    "a header without a name": requestOf({ more: ": x\r\n" }),
    "a header with a space in its name": requestOf({ more: "X Y: z\r\n" }),
    "a header with a space before its colon": requestOf({ more: "X : z\r\n" }),
    "a header with a NUL": requestOf({ more: "X: a\0b\r\n" }),
    "a header that begins with a space": requestOf({ host: " Host: a\r\n" }),
    "a header with a lone CR": requestOf({ more: "X: a\rb\r\n" }),
    "a length of letters": requestOf({ framing: "Content-Length: ten\r\n" }),
    "a negative length": requestOf({ framing: "Content-Length: -1\r\n" }),
    "a length with a plus": requestOf({ framing: "Content-Length: +23\r\n" }),
    "a hexadecimal length": requestOf({ framing: "Content-Length: 0x17\r\n" }),
    "a length over 64 bits": requestOf({ framing: `Content-Length: 1${"0".repeat(30)}\r\n` }),
    "two lengths": requestOf({ framing: "Content-Length: 23\r\nContent-Length: 24\r\n" }),
    "a list of lengths": requestOf({ framing: "Content-Length: 23, 23\r\n" }),
    "a length and chunks": requestOf({
      framing: `Content-Length: 5\r\n${chunked}`,
      body: "0\r\n\r\n",
    }),
    "an unknown transfer coding": requestOf({ framing: "Transfer-Encoding: rot13\r\n" }),
    "chunks that are not last": requestOf({ framing: "Transfer-Encoding: chunked, gzip\r\n" }),
    "a chunk size of letters": requestOf({ framing: chunked, body: "zz\r\n" }),
    "a negative chunk size": requestOf({ framing: chunked, body: "-5\r\n" }),
    "a chunk size over 64 bits": requestOf({ framing: chunked, body: `${"f".repeat(20)}\r\n` }),
    "an empty chunk size": requestOf({ framing: chunked, body: "\r\n" }),
    "a chunk longer than its size": requestOf({ framing: chunked, body: "2\r\n{}}\r\n0\r\n\r\n" }),
    "a chunk that ends without CR": requestOf({ framing: chunked, body: "2\r\n{}\n0\r\n\r\n" }),
    "chunks that hold half a plant": requestOf({
      framing: chunked,
      body: '6\r\n{"id":\r\n0\r\n\r\n',
    }),
  }),
  ...refused(431, Code.ResourceExhausted, {
    "a header over the limit": requestOf({ more: `X: ${"x".repeat(20_000)}\r\n` }),
    "a header of 2 MB": requestOf({ more: `X: ${"x".repeat(2_000_000)}\r\n` }),
    "many headers over the limit": requestOf({ more: "X: x\r\n".repeat(4000) }),
    "a target over the limit": requestOf({ line: `POST /${"x".repeat(20_000)} HTTP/1.1` }),
  }),
  ...refused(413, Code.ResourceExhausted, {
    "a length over the limit, and no body": requestOf({
      framing: `Content-Length: ${bodyBytesMax + 1}\r\n`,
      body: "",
    }),
    "a length of 2^53": requestOf({ framing: `Content-Length: ${2 ** 53}\r\n`, body: "" }),
    "chunks over the limit": requestOf({
      framing: chunked,
      body: `ffff\r\n${" ".repeat(0xffff)}\r\n`.repeat(2),
    }),
  }),
  ...refused(405, Code.Unimplemented, {
    CONNECT: requestOf({ line: "CONNECT a:80 HTTP/1.1", framing: "", body: "" }),
    TRACE: requestOf({ line: "TRACE /plants HTTP/1.1", framing: "", body: "" }),
    PROPFIND: requestOf({ line: "PROPFIND /plants HTTP/1.1", framing: "", body: "" }),
  }),
  ...refused(404, Code.NotFound, {
    "OPTIONS *": requestOf({ line: "OPTIONS * HTTP/1.1", framing: "", body: "" }),
    "a target with another scheme": requestOf({ line: "POST ftp://a/plants HTTP/1.1" }),
  }),
  ...refused(417, Code.InvalidArgument, {
    "an expectation that nobody knows": requestOf({ more: "Expect: the-unexpected\r\n" }),
  }),
  ...refused(401, Code.Unauthenticated, {
    "a token that holds a comma": Buffer.from(
      "POST /plants HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" +
        `Authorization: Bearer ${knownToken}, Bearer x\r\n\r\n`,
    ),
  }),
];
