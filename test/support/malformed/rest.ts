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
    "an overlong U+0000": Buffer.from('{"id":1,"name":"a\xc0\x80"}', "latin1"),
  }),
  ...badBody(/^plant (must be a JSON object|is required)$/, { null: "null" }),
  ...badBody(/^id is required; name is required$/, { "no body": "", "an empty object": "{}" }),
  ...badBody(/^id must be a 64-bit integer/, {
    "a fraction over 2^53": '{"id":9007199254740993.5,"name":"Basil"}',
    "one over the maximum": '{"id":9223372036854775808,"name":"Basil"}',
  }),
  ...badBody(/^tag must not contain a lone surrogate$/, {
    "a lone surrogate in the tag": '{"id":1,"name":"Basil","tag":"\\ud83c"}',
  }),
  ...badBody(/^name must not contain U\+0000$/, {
    "an escaped U+0000 in the name": '{"id":1,"name":"a\\u0000b"}',
  }),
  ...badBody(/\b(Name|plant|__proto__|constructor)\b.* is not a known field$/, {
    "a field in other case": '{"id":1,"name":"Basil","Name":"x"}',
    "a field __proto__": '{"id":1,"name":"Basil","__proto__":{"tag":"herb"}}',
  }),
  ...badBody(/ is not a known field$/, {
    "a field with a lone surrogate": '{"id":1,"name":"Basil","\\ud800":1}',
  }),
  ...badBody(/^kkkk.*….* is not a known field$/, {
    "a field with a long name": `{"id":1,"name":"Basil","kkkk${"🌱".repeat(500)}":1}`,
  }),
  ...badBody(/ twice in one JSON object$/, {
    "a name twice, once escaped": '{"id":1,"name":"Basil","n\\u0061me":"Mint"}',
  }),
  ...badBody(/^the request has more than 1000 values$/, {
    "1,001 values": `{"id":1,"name":"Basil","x":[${"1,".repeat(1000)}1]}`,
  }),
  ...badBody(/^the request nests deeper than 200 levels$/, {
    "a flood of open brackets": "[".repeat(bodyBytesMax),
  }),
  ...refused([415, Code.InvalidArgument, /Content-Type/], {
    "no content type": typed(""),
    "no body, of text": { ...typed("text/plain"), body: "" },
  }),
  ...refused([415, Code.InvalidArgument, /^unknown compression/], { Brotli: coded("br") }),
  ...refused([400, Code.InvalidArgument, /./], {
    "not gzip at all": coded("gzip"),
    "gzip that is cut behind its data": coded("gzip", packed.subarray(0, -4)),
  }),
  ...refused([413, Code.ResourceExhausted, /^a message must not be larger than 65536 bytes$/], {
    "gzip that unpacks to more than the limit": coded("gzip", gzipSync(Buffer.alloc(2 ** 24))),
    "white space over the limit": { body: plant + " ".repeat(bodyBytesMax) },
  }),
  ...refused([400, Code.InvalidArgument, / is not a known query parameter$/], {
    "a query": { path: "/plants?id=1", body: plant },
  }),
  ...refused([404, Code.NotFound, /./], {
    "another path": { path: "/plants%00" },
    "a path that climbs": { path: "/a/../plants" },
  }),
];
