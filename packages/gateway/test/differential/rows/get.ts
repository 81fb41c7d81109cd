/** Connect's GET: the content of the query. */
import { gzipSync } from "node:zlib";
import type { Field } from "../case.ts";
import { updatePath } from "../request.ts";
import { createRow, isGet, isJson, type Row, unlike } from "./table.ts";

const proto = Buffer.from("r\x01>", "latin1"); // its base64 has a + or a /
const raw: readonly (readonly [what: string, query: string])[] = [
  ["nothing", ""],
  ["no message", "encoding=json"],
  ["no message, binary", "encoding=proto&base64=1"],
  ["an empty message", "encoding=proto&base64=1&message="],
  ["no encoding", "message=%7B%7D"],
  ["an empty encoding", "encoding=&message=%7B%7D"],
  ["an unknown encoding", "encoding=xml&message=%7B%7D"],
  ["an encoding in capitals", "encoding=JSON&message=%7B%7D"],
  ["two encodings", "encoding=json&encoding=proto&message=%7B%7D"],
  ["two messages", "encoding=json&message=%7B%22string%22%3A%22a%22%7D&message=%7B%7D"],
  ["plus as a space", "encoding=json&message=%7B%22string%22:%22a+b%22%7D"],
  ["a message that is not percent-encoded", 'encoding=json&message={"string":"a"}'],
  ["percent-encoded invalid UTF-8", "encoding=json&message=%7B%22string%22%3A%22%FF%22%7D"],
  ["percent signs that encode nothing", "encoding=json&message=%7B%22string%22%3A%22%zz%%22%7D"],
  ["a null character", "encoding=json&message=%7B%22string%22%3A%22%00%22%7D"],
  ["names that are percent-encoded", "%65ncoding=json&messag%65=%7B%7D"],
  ["names in capitals", "Encoding=json&Message=%7B%7D"],
  ["semicolons", "encoding=json;message=%7B%7D"],
  ["unknown parameters", "encoding=json&message=%7B%7D&a=b&__proto__=c"],
  ["a fragment", "encoding=json&message=%7B%7D#x"],
  ["question marks", "encoding=json&message=%7B%22string%22%3A%22?%22%7D"],
  ["an equals sign within", "encoding=json&message=%7B%22string%22%3A%22=%22%7D"],
  ["base64 with padding", `encoding=proto&base64=1&message=${encodeURIComponent("cgJhYg==")}`],
  ["base64 without", "encoding=proto&base64=1&message=cgJhYg"],
  ["base64 with spaces", "encoding=proto&base64=1&message=cgJh+Yg"],
  ["base64 with a line break", "encoding=proto&base64=1&message=cgJh%0AYg"],
  ["base64, its letters those of URLs", "encoding=proto&base64=1&message=cgL-_w"],
  ["base64, its letters not those of URLs", "encoding=proto&base64=1&message=cgI%2B%2F3g"],
  ["base64 that is not", "encoding=proto&base64=1&message=!!!"],
  ["base64 that is cut short", "encoding=proto&base64=1&message=cgJ"],
  ["base64 of one letter", "encoding=proto&base64=1&message=c"],
  ["base64 with padding in its middle", "encoding=proto&base64=1&message=cg%3D%3DcgJh"],
  ["base64=0", "encoding=json&base64=0&message=%7B%7D"],
  ["base64=true", "encoding=json&base64=true&message=%7B%7D"],
  ["base64 twice", "encoding=json&base64=0&base64=1&message=%7B%7D"],
  ["binary without base64", "encoding=proto&message=r%01a"],
  ["binary without base64, invalid UTF-8", "encoding=proto&message=r%02%FFa"],
  ["JSON in base64", `encoding=json&base64=1&message=${btoa('{"string":"a"}')}`],
  ["gzip", query({ compression: "gzip", message: gzipSync(proto).toString("base64url") })],
  ["gzip that is not", query({ compression: "gzip", message: "cgFh" })],
  ["gzip without base64", "encoding=proto&compression=gzip&message=abc"],
  ["identity", query({ compression: "identity", message: "cgFh" })],
  ["an empty compression", query({ compression: "", message: "cgFh" })],
  ["an unknown compression", query({ compression: "zstd", message: "cgFh" })],
  ["two compressions", `${query({ compression: "identity", message: "cgFh" })}&compression=gzip`],
];

function query(fields: Readonly<Record<string, string>>): string {
  return new URLSearchParams({ encoding: "proto", base64: "1", ...fields }).toString();
}

const queries = raw.map(([what, rawQuery]) =>
  createRow({
    what: `GET with ${what}`,
    on: (door) => isGet(door) && isJson(door),
    setup: { gate: true, interceptors: 1, compressMinBytes: 1 },
    call: { rawQuery },
  }),
);

const headers: readonly (readonly [what: string, ...headers: Field[]])[] = [
  ["a content encoding", ["content-encoding", "gzip"]],
  ["an unknown content encoding", ["content-encoding", "zstd"]],
  ["what it accepts", ["accept-encoding", "gzip"]],
  ["a deadline", ["connect-timeout-ms", "20000"]],
  ["a wrong deadline", ["connect-timeout-ms", "x"]],
  ["the version as a header", ["connect-protocol-version", "1"]],
];

const withHeaders = headers.map(([what, ...fields]) =>
  createRow({
    what: `GET with ${what}`,
    on: isGet,
    setup: { compressMinBytes: 1, requireConnectProtocolHeader: what.includes("version") },
    call: { headers: fields },
  }),
);

const versionAsParameter = createRow({
  unlike: unlike.refusal,
  what: "the version as a parameter, required in a POST",
  on: (door) => !isGet(door),
  setup: { requireConnectProtocolHeader: true },
  change: (request) => ({ ...request, path: `${request.path}?connect=v1` }),
});

const readLimits = [2, 3, 4, 13, 14].map((readMaxBytes) =>
  createRow({
    what: `GET where ${readMaxBytes} bytes are the most`,
    on: isGet,
    setup: { readMaxBytes },
  }),
);

const sideEffects = createRow({
  what: "GET of a method that has side effects",
  on: isGet,
  setup: { gate: true },
  call: { path: updatePath },
});

export const getRows: readonly Row[] = [
  ...queries,
  ...withHeaders,
  versionAsParameter,
  ...readLimits,
  sideEffects,
];
