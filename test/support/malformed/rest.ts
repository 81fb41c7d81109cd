/** REST requests with invalid content, and how each is rejected. */
import { gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";

export interface Row {
  readonly what: string;
  readonly body?: string | Uint8Array;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  readonly error: Code;
  readonly message?: RegExp;
}

export const bodyBytesMax = 64 * 1024;

function badContent(message: RegExp, bodies: Readonly<Record<string, string | Uint8Array>>): Row[] {
  const error = Code.InvalidArgument;
  return Object.entries(bodies).map(([what, body]) => ({
    what: `${what}: ${describeBody(body)}`,
    body,
    status: 400,
    error,
    message,
  }));
}

function describeBody(body: string | Uint8Array): string {
  const text = typeof body === "string" ? body : Buffer.from(body).toString("latin1");
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}

/** A valid plant with these bytes as its name. */
function named(...bytes: number[]): Buffer {
  return Buffer.concat([Buffer.from('{"id":1,"name":"a'), Buffer.from(bytes), Buffer.from('b"}')]);
}

/** json-text.test.ts of the gateway has every form of these. */
const notJson = badContent(/^the request is not valid JSON/, {
  "a number more than once": `{"id":${"1,".repeat(2000)}1}`,
  "white space": " \r\n\t",
  "no end": '{"id":1,"name":"Basil"',
  "a second value": '{"id":1,"name":"a"}{"id":2,"name":"b"}',
  "a trailing comma": '{"id":1,"name":"Basil",}',
  NaN: '{"id":NaN,"name":"Basil"}',
  "a leading zero": '{"id":01,"name":"Basil"}',
  "a raw line break in a string": '{"id":1,"name":"Ba\nsil"}',
  "an unknown escape": '{"id":1,"name":"\\x42asil"}',
  "a byte order mark": '\ufeff{"id":1,"name":"Basil"}',
  "a character outside the BMP behind the value": '{"id":1,"name":"Basil"}🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱',
  "control characters": "\u001b[31m\u0007\u0085",
});

const notUtf8 = badContent(/^the request is not valid UTF-8$/, {
  "UTF-16LE with a mark": Buffer.from('\ufeff{"id":1,"name":"Basil"}', "utf16le"),
  "a lead byte at the end of the body": Buffer.from([0x22, 0xe2, 0x82]),
  "an overlong U+0000": named(0xc0, 0x80),
  "a surrogate (CESU-8)": named(0xed, 0xa0, 0x80),
  "the byte FF": named(0xff),
  "Latin-1": Buffer.from('{"id":1,"name":"Caf\u00e9"}', "latin1"),
  "a bad byte outside of strings": Buffer.from([0xff, ...Buffer.from('{"id":1,"name":"a"}')]),
  "a bad byte in a field's name": Buffer.from([...Buffer.from('{"id":1,"n'), 0xff, 0x22, 0x3a]),
});

const notAnObject = badContent(/^plant (must be a JSON object|is required)$/, {
  null: "null",
  true: "true",
  "a number": "12",
  "a large number": "9007199254740993",
  "a string": '"Basil"',
  "an array": "[]",
  "an array with a plant": '[{"id":1,"name":"Basil"}]',
});

const missing = [
  ...badContent(/^id is required$/, {
    "no id": '{"name":"Basil"}',
    "a null id": '{"id":null,"name":"Basil"}',
  }),
  ...badContent(/^name is required$/, {
    "no name": '{"id":1}',
    "a null name": '{"id":1,"name":null,"tag":"herb"}',
  }),
  ...badContent(/^id is required; name is required$/, {
    "no body": "",
    "an empty object": "{}",
    "a tag alone": '{"tag":"herb"}',
    nulls: '{"id":null,"name":null,"tag":null}',
  }),
];

/** json-integers.test.ts of the gateway has every form of these. */
const wrongId = badContent(/^id must be a 64-bit integer/, {
  "an id of true": '{"id":true,"name":"Basil"}',
  "an id of an object": '{"id":{},"name":"Basil"}',
  "a small fraction": '{"id":1.0000000000000000001,"name":"Basil"}',
  "a fraction over 2^53": '{"id":9007199254740993.5,"name":"Basil"}',
  "one over the maximum": '{"id":9223372036854775808,"name":"Basil"}',
  "one under the minimum": '{"id":-9223372036854775809,"name":"Basil"}',
  "one over the maximum, as text": '{"id":"9223372036854775808","name":"Basil"}',
  "a huge exponent": '{"id":1e999999999,"name":"Basil"}',
  "a number of 60,000 digits": `{"id":${"9".repeat(60_000)},"name":"Basil"}`,
  "an empty text": '{"id":"","name":"Basil"}',
  "a text in hexadecimal": '{"id":"0x10","name":"Basil"}',
  "a text with leading zeros": '{"id":"007","name":"Basil"}',
});

const wrongText = [
  ...badContent(/^name must be a string$/, {
    "a name of a number": '{"id":1,"name":5}',
    "a name of a large number": '{"id":1,"name":9007199254740993}',
    "a name of false": '{"id":1,"name":false}',
    "a name of an object": '{"id":1,"name":{"en":"Basil"}}',
    "a name of an array": '{"id":1,"name":["Basil"]}',
  }),
  ...badContent(/^tag must be a string$/, {
    "a tag of a number": '{"id":1,"name":"Basil","tag":0}',
    "a tag of true": '{"id":1,"name":"Basil","tag":true}',
    "a tag of an array": '{"id":1,"name":"Basil","tag":[]}',
  }),
  ...badContent(/^name must not contain a lone surrogate$/, {
    "a lone high surrogate": '{"id":1,"name":"a\\ud800b"}',
    "a lone low surrogate": '{"id":1,"name":"\\udc00"}',
    "surrogates in the wrong order": '{"id":1,"name":"\\udf31\\ud83c"}',
  }),
  ...badContent(/^tag must not contain a lone surrogate$/, {
    "a lone surrogate in the tag": '{"id":1,"name":"Basil","tag":"\\ud83c"}',
  }),
  ...badContent(/^name must not contain U\+0000$/, {
    "an escaped U+0000 in the name": '{"id":1,"name":"a\\u0000b"}',
  }),
  ...badContent(/^tag must not contain U\+0000$/, {
    "an escaped U+0000 in the tag": '{"id":1,"name":"Basil","tag":"\\u0000"}',
  }),
];

const unknownFields = [
  ...badContent(/^tga is not a known field$/, {
    "an unknown field": '{"id":1,"name":"Basil","tga":"herb"}',
    "an unknown field of null": '{"id":1,"name":"Basil","tga":null}',
  }),
  ...badContent(/\bName\b/, { "a field in other case": '{"id":1,"name":"Basil","Name":"x"}' }),
  ...badContent(/\bplant\b/, { "the message of RPC": '{"plant":{"id":1,"name":"Basil"}}' }),
  ...badContent(/__proto__/, {
    __proto__: '{"id":1,"name":"Basil","__proto__":{"tag":"herb"}}',
    "__proto__ alone": '{"__proto__":{"id":1,"name":"Basil"}}',
  }),
  ...badContent(/constructor/, { constructor: '{"id":1,"name":"Basil","constructor":1}' }),
  ...badContent(/\[a\.b\]/, { "an extension": '{"id":1,"name":"Basil","[a.b]":1}' }),
  ...badContent(/^kkkk.*…$/, {
    "a field with a long name": `{"id":1,"name":"Basil","${"k".repeat(5000)}":1}`,
    "a field with a long name of characters outside the BMP": `{"id":1,"name":"Basil","kkkk${"🌱".repeat(500)}":1}`,
  }),
  ...badContent(/\["x\.name"\] is not a known field$/, {
    "a field with the path of one that is known": '{"id":1,"name":"Basil","x.name":1}',
  }),
  ...badContent(/\[""\] is not a known field$/, {
    "a field with an empty name": '{"id":1,"name":"Basil","":1}',
  }),
  ...badContent(/ is not a known field$/, {
    "a field with control characters": '{"id":1,"name":"Basil","a\\u0000\\n\\u001b[31m\\u0085":1}',
    "a field with a lone surrogate": '{"id":1,"name":"Basil","\\ud800":1}',
  }),
];

const twice = badContent(/ twice in one JSON object$/, {
  "an id twice": '{"id":1,"id":2,"name":"Basil"}',
  "a name twice, once escaped": '{"id":1,"name":"Basil","n\\u0061me":"Mint"}',
  "a tag twice, once null": '{"id":1,"name":"Basil","tag":"herb","tag":null}',
  "__proto__ twice": '{"__proto__":1,"__proto__":1}',
  "a name twice, deep in an unknown field": '{"x":[{"y":{"z":1,"z":2}}]}',
});

const tooMany = badContent(/^the request has more than 1000 values$/, {
  "1,001 values": `{"id":1,"name":"Basil","x":[${"1,".repeat(1000)}1]}`,
});

const tooDeep = badContent(/^the request nests deeper than 200 levels$/, {
  "a flood of open brackets": "[".repeat(bodyBytesMax),
  "201 levels": `${"[".repeat(201)}${"]".repeat(201)}`,
  "30,000 arrays": `${"[".repeat(30_000)}${"]".repeat(30_000)}`,
  "10,000 objects": `${'{"x":'.repeat(10_000)}1${"}".repeat(10_000)}`,
  "an unknown field with 1,000 levels": `{"id":1,"name":"Basil","x":${"[".repeat(1000)}${"]".repeat(1000)}}`,
});

const plant = '{"id":1,"name":"Basil"}';
const packed = gzipSync(plant);

const badHeaders: readonly Row[] = [
  ...[
    ["no content type", ""],
    ["a form", "application/x-www-form-urlencoded"],
    ["another kind of JSON", "application/problem+json"],
    ["JSON in UTF-16", "application/json; charset=utf-16"],
    ["JSON in two charsets", "application/json; charset=utf-8; charset=latin1"],
    ["gRPC", "application/grpc"],
    ["any type", "*/*"],
    ["garbage", ";;;=,/"],
    ["two types", "application/json, text/plain"],
  ].map(([what, contentType = ""]) => ({
    what: `content type: ${what}`,
    headers: { "content-type": contentType },
    body: plant,
    status: 415,
    error: Code.InvalidArgument,
    message: /Content-Type/,
  })),
  ...["", "application/json; charset=utf-8"].map((contentType) => ({
    what: `no body, of the content type "${contentType}"`,
    headers: { "content-type": contentType },
    body: "",
    status: 400,
    error: Code.InvalidArgument,
    message: /^id is required; name is required$/,
  })),
  {
    what: "no body, of text",
    headers: { "content-type": "text/plain" },
    body: "",
    status: 415,
    error: Code.InvalidArgument,
    message: /Content-Type/,
  },
  ...[
    ["Brotli", "br"],
    ["gzip twice", "gzip, gzip"],
    ["unknown", "rot13"],
    ["garbage", ",;"],
  ].map(([what, coding = ""]) => ({
    what: `content encoding: ${what}`,
    headers: { "content-encoding": coding },
    body: plant,
    status: 415,
    error: Code.InvalidArgument,
    message: /^unknown compression/,
  })),
  ...(
    [
      ["not gzip at all", plant],
      ["gzip that is cut", packed.subarray(0, 15)],
      ["gzip that is cut behind its data", packed.subarray(0, -4)],
      ["a header of gzip alone", packed.subarray(0, 10)],
      ["gzip with a wrong checksum", Buffer.concat([packed.subarray(0, -8), Buffer.alloc(8, 1)])],
      ["gzip with bytes behind it", Buffer.concat([packed, Buffer.from("xx")])],
      ["gzip of gzip", gzipSync(packed)],
      ["an empty body that claims gzip", ""],
    ] as const
  ).map(([what, body]) => ({
    what,
    headers: { "content-encoding": "gzip" },
    body,
    status: 400,
    error: Code.InvalidArgument,
  })),
  {
    what: "gzip that unpacks to more than the limit",
    headers: { "content-encoding": "gzip" },
    body: gzipSync(Buffer.alloc(20 * 1024 * 1024)),
    status: 413,
    error: Code.ResourceExhausted,
    message: /^a message must not be larger than 65536 bytes$/,
  },
  {
    what: "a body over the limit",
    body: `{"id":1,"name":"${"x".repeat(bodyBytesMax)}"}`,
    status: 413,
    error: Code.ResourceExhausted,
    message: /^a message must not be larger than 65536 bytes$/,
  },
  {
    what: "white space over the limit",
    body: plant + " ".repeat(bodyBytesMax),
    status: 413,
    error: Code.ResourceExhausted,
  },
  ...["/plants?x=1", "/plants?id=1", "/plants?=", "/plants?a%00=1"].map((path) => ({
    what: `a query: ${path}`,
    path,
    body: plant,
    status: 400,
    error: Code.InvalidArgument,
    message: / is not a known query parameter$/,
  })),
  {
    what: "a query that is not percent-encoded",
    path: "/plants?%",
    body: plant,
    status: 400,
    error: Code.InvalidArgument,
    message: / not percent-encoded UTF-8$/,
  },
  ...["/plants%", "/plants%00", "/%zz", "/plants;x", "/a/../plants", "/./plants"].map((path) => ({
    what: `the path ${path}`,
    path,
    body: plant,
    status: 404,
    error: Code.NotFound,
  })),
];

export const rows: readonly Row[] = [
  ...notJson,
  ...notUtf8,
  ...notAnObject,
  ...missing,
  ...wrongId,
  ...wrongText,
  ...unknownFields,
  ...twice,
  ...tooMany,
  ...tooDeep,
  ...badHeaders,
];
