/**
 * REST requests with invalid content, and how each is rejected. The tests of the gateway have every
 * form of JSON, integers, headers and gzip; these show that the store is behind all of them.
 */
import { gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";

interface Content {
  readonly body?: string | Uint8Array;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Row extends Content {
  readonly what: string;
  readonly status: number;
  readonly error: Code;
  readonly message: RegExp;
}

export const bodyBytesMax = 64 * 1024;

function refused(
  [status, error, message]: readonly [number, Code, RegExp],
  contents: Readonly<Record<string, Content>>,
): Row[] {
  const rows = Object.entries(contents);
  return rows.map(([what, content]) => ({ what, status, error, message, ...content }));
}

function badBody(message: RegExp, bodies: Readonly<Record<string, string | Uint8Array>>): Row[] {
  const contents = Object.entries(bodies).map(([what, body]) => [what, { body }]);
  return refused([400, Code.InvalidArgument, message], Object.fromEntries(contents));
}

const plant = '{"id":1,"name":"Basil"}';
const packed = gzipSync(plant);
const typed = (type: string) => ({ headers: { "content-type": type }, body: plant });
const coded = (coding: string, body: string | Uint8Array = plant) => ({
  headers: { "content-encoding": coding },
  body,
});

export const rows: readonly Row[] = [
  ...badBody(/^the request is not valid JSON/, {
    "no end": '{"id":1,"name":"Basil"',
    "a byte order mark": `\ufeff${plant}`,
  }),
  ...badBody(/^the request is not valid UTF-8$/, {
    "UTF-16LE with a mark": Buffer.from(`\ufeff${plant}`, "utf16le"),
    "an overlong U+0000": Buffer.from('{"id":1,"name":"a\xc0\x80"}', "latin1"),
    "Latin-1": Buffer.from('{"id":1,"name":"Caf\xe9"}', "latin1"),
  }),
  ...badBody(/^plant (must be a JSON object|is required)$/, {
    null: "null",
    "an array with a plant": `[${plant}]`,
  }),
  ...badBody(/^id is required$/, { "a null id": '{"id":null,"name":"Basil"}' }),
  ...badBody(/^name is required$/, { "a null name": '{"id":1,"name":null,"tag":"herb"}' }),
  ...badBody(/^id is required; name is required$/, { "no body": "", "an empty object": "{}" }),
  ...badBody(/^id must be a 64-bit integer/, {
    "a fraction over 2^53": '{"id":9007199254740993.5,"name":"Basil"}',
    "one over the maximum": '{"id":9223372036854775808,"name":"Basil"}',
    "one under the minimum, as text": '{"id":"-9223372036854775809","name":"Basil"}',
    "a number of 60,000 digits": `{"id":${"9".repeat(60_000)},"name":"Basil"}`,
  }),
  ...badBody(/^name must be a string$/, {
    "a name of an object": '{"id":1,"name":{"en":"Basil"}}',
  }),
  ...badBody(/^tag must not contain a lone surrogate$/, {
    "a lone surrogate in the tag": '{"id":1,"name":"Basil","tag":"\\ud83c"}',
  }),
  ...badBody(/^name must not contain U\+0000$/, {
    "an escaped U+0000 in the name": '{"id":1,"name":"a\\u0000b"}',
  }),
  ...badBody(/^tga is not a known field$/, {
    "an unknown field": '{"id":1,"name":"Basil","tga":"herb"}',
  }),
  ...badBody(/\b(Name|plant|__proto__|constructor)\b.* is not a known field$/, {
    "a field in other case": '{"id":1,"name":"Basil","Name":"x"}',
    "the message of RPC": `{"plant":${plant}}`,
    "a field __proto__": '{"id":1,"name":"Basil","__proto__":{"tag":"herb"}}',
  }),
  ...badBody(/\["(x\.name|)"\] is not a known field$/, {
    "a field with the path of one that is known": '{"id":1,"name":"Basil","x.name":1}',
  }),
  ...badBody(/^kkkk.*…$/, {
    "a field with a long name": `{"id":1,"name":"Basil","kkkk${"🌱".repeat(500)}":1}`,
  }),
  ...badBody(/ is not a known field$/, {
    "a field with control characters": '{"id":1,"name":"Basil","a\\u0000\\n\\u001b[31m\\u0085":1}',
    "a field with a lone surrogate": '{"id":1,"name":"Basil","\\ud800":1}',
  }),
  ...badBody(/ twice in one JSON object$/, {
    "an id twice": '{"id":1,"id":2,"name":"Basil"}',
    "a name twice, once escaped": '{"id":1,"name":"Basil","n\\u0061me":"Mint"}',
    "a name twice, deep in an unknown field": '{"x":[{"y":{"z":1,"z":2}}]}',
  }),
  ...badBody(/^the request has more than 1000 values$/, {
    "1,001 values": `{"id":1,"name":"Basil","x":[${"1,".repeat(1000)}1]}`,
  }),
  ...badBody(/^the request nests deeper than 200 levels$/, {
    "a flood of open brackets": "[".repeat(bodyBytesMax),
    "201 levels in an unknown field": `{"x":${"[".repeat(200)}${"]".repeat(200)}}`,
  }),
  ...refused([415, Code.InvalidArgument, /Content-Type/], {
    "no content type": typed(""),
    "gRPC's content type": typed("application/grpc"),
    "no body, of text": { ...typed("text/plain"), body: "" },
  }),
  ...refused([400, Code.InvalidArgument, /^id is required; name is required$/], {
    "no body, without a content type": { ...typed(""), body: "" },
  }),
  ...refused([415, Code.InvalidArgument, /^unknown compression/], { Brotli: coded("br") }),
  ...refused([400, Code.InvalidArgument, /./], {
    "not gzip at all": coded("gzip"),
    "gzip that is cut behind its data": coded("gzip", packed.subarray(0, -4)),
    "gzip with bytes behind it": coded("gzip", Buffer.concat([packed, Buffer.from("xx")])),
    "an empty body that claims gzip": coded("gzip", ""),
  }),
  ...refused([413, Code.ResourceExhausted, /^a message must not be larger than 65536 bytes$/], {
    "gzip that unpacks to more than the limit": coded("gzip", gzipSync(Buffer.alloc(2 ** 24))),
    "white space over the limit": { body: plant + " ".repeat(bodyBytesMax) },
  }),
  ...refused([400, Code.InvalidArgument, / is not a known query parameter$/], {
    "a query": { path: "/plants?id=1", body: plant },
  }),
  ...refused([400, Code.InvalidArgument, / not percent-encoded UTF-8$/], {
    "a query that is not percent-encoded": { path: "/plants?%", body: plant },
  }),
  ...refused(
    [404, Code.NotFound, /./],
    Object.fromEntries(
      ["/plants%00", "/%zz", "/plants;x", "/a/../plants"].map((path) => [path, { path }]),
    ),
  ),
];
