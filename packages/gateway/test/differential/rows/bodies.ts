/** Bodies: envelopes and lengths, invalid messages, and bodies that are too large. */
import { envelope } from "../../support/envelope.ts";
import type { WireRequest } from "../case.ts";
import {
  createRow,
  isConnect,
  isEnveloped,
  isGet,
  isHttp1,
  isJson,
  isPost,
  type Row,
  unlike,
} from "./table.ts";

const bytes = (...values: number[]) => Buffer.from(values);
const one = envelope(bytes(0x72, 1, 0x61));

const envelopes: readonly (readonly [what: string, ...body: Buffer[]])[] = [
  ["no bytes"],
  ["an empty chunk", bytes()],
  ["one byte", bytes(0)],
  ["a prefix cut short", bytes(0, 0, 0, 0)],
  ["a prefix alone, of nothing", bytes(0, 0, 0, 0, 0)],
  ["a prefix alone, of something", bytes(0, 0, 0, 0, 5)],
  ["a message cut short", one.subarray(0, -1)],
  ["a message, and one byte", Buffer.concat([one, bytes(0)])],
  ["a message, and a prefix alone", Buffer.concat([one, bytes(0, 0, 0, 0, 5)])],
  ["a length that is too short", bytes(0, 0, 0, 0, 2, 0x72, 1, 0x61)],
  ["a length that is too long", bytes(0, 0, 0, 0, 9, 0x72, 1, 0x61)],
  ["two messages", Buffer.concat([one, one])],
  ["two messages in two chunks", one, one],
  ["a message and an empty one", Buffer.concat([one, envelope("")])],
  ["a message, and a broken one", Buffer.concat([one, envelope("{{{{")])],
  ["a message byte by byte", ...[...one].map((byte) => bytes(byte))],
  ["a message cut in its prefix", one.subarray(0, 3), one.subarray(3)],
  ["a message cut behind its prefix", one.subarray(0, 5), one.subarray(5)],
  ["an empty chunk, and a message", bytes(), one],
  ["the compressed flag", envelope(bytes(0x72, 1, 0x61), 1)],
  ["a compressed empty message", envelope("", 1)],
  ["the flag that ends a stream of Connect", envelope("{}", 2)],
  ["the trailers flag alone", envelope("a: b\r\n", 0x80)],
  ["a message, and trailers", Buffer.concat([one, envelope("a: b\r\n", 0x80)])],
  ["trailers, and a message", Buffer.concat([envelope("a: b\r\n", 0x80), one])],
  ["trailers, compressed", Buffer.concat([one, envelope("a: b\r\n", 0x81)])],
  ["a reserved flag", envelope(bytes(0x72, 1, 0x61), 4)],
  ["all flags", envelope(bytes(0x72, 1, 0x61), 0xff)],
  ["all flags but the first and the last", envelope(bytes(0x72, 1, 0x61), 0x7e)],
  ["a length of 64 MiB", bytes(0, 4, 0, 0, 0, 1, 2, 3)],
];

function unlikeOf(what: string) {
  if (/prefix alone(, of something)?$/.test(what)) return unlike.prefix;
  return /flag|trailers/.test(what) && !/compressed flag/.test(what) ? unlike.flags : undefined;
}

const enveloped = envelopes.flatMap(([what, ...body]) => [
  createRow({
    what,
    unlike: unlikeOf(what),
    on: isEnveloped,
    setup: { gate: true, interceptors: 1 },
    call: { body },
  }),
  createRow({
    what: `${what}, in chunks of HTTP/1.1`,
    unlike: unlikeOf(what),
    on: (door) => isEnveloped(door) && isHttp1(door),
    call: { body },
    change: (request) => ({ ...request, framing: "chunked" }),
  }),
]);

const messages: readonly (readonly [what: string, text: Buffer | string])[] = [
  ["nothing", ""],
  ["a tag alone", bytes(0x72)],
  ["a length that is too long", bytes(0x72, 9, 0x61)],
  ["a wire type that is none", bytes(0x77, 1)],
  ["the field zero", bytes(0, 0)],
  ["a group without an end", bytes(0x73)],
  ["the end of no group", bytes(0x74)],
  ["a varint without an end", Buffer.alloc(11, 0xff)],
  ["invalid UTF-8", bytes(0x72, 1, 0xff)],
  ["an unknown field", bytes(0xf8, 0x7f, 1)],
  ["a field twice", bytes(0x72, 1, 0x61, 0x72, 1, 0x62)],
  ["a wrong wire type", bytes(0x70, 1)],
  ["not JSON", "{"],
  ["an empty object", "{}"],
  ["a space", " "],
  ["null", "null"],
  ["a list", "[]"],
  ["a number", "1"],
  ["an unknown member", '{"nothing":1}'],
  ["a wrong type", '{"int32":"x"}'],
  ["a range", '{"int32":2147483648}'],
  ["a member twice", '{"int32":1,"int32":2}'],
  ["a large integer", '{"int64":9007199254740993}'],
  ["a byte order mark", "\ufeff{}"],
  ["invalid UTF-8 in JSON", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ["a lone surrogate", '{"string":"\\ud800"}'],
  ["text behind it", "{} x"],
  ["an enum by an unknown name", '{"genre":"NOTHING"}'],
  ["an Any of an unknown type", '{"any":{"@type":"type.googleapis.com/a.B"}}'],
];

const asMessage = messages.flatMap(([what, text]) => [
  createRow({
    what: `as a message: ${what}`,
    setup: { gate: true, interceptors: 1 },
    call: { bytes: Buffer.from(text as string) },
  }),
  createRow({
    what: `as a message, compressed: ${what}`,
    call: { bytes: Buffer.from(text as string), compression: "gzip" },
  }),
]);

/** A valid message with a wrong length in its header. */
const lengths = ["0", "2", "x", "-1", "", "3.5"].map((length) =>
  createRow({
    what: `content-length ${JSON.stringify(length)} over HTTP/1.1, in chunks`,
    on: (door) => isPost(door) && isHttp1(door) && /^\d+$/.test(length) === false,
    // Node rejects most of these before any handler. The rest must have the same result.
    change: (request) => ({
      ...request,
      framing: "none",
      headers: [...request.headers, ["content-length", length]],
    }),
  }),
);

function inChunks(request: WireRequest): WireRequest {
  return { ...request, framing: "chunked" };
}

const chunked = [
  createRow({ what: "in chunks", on: (door) => isPost(door) && isHttp1(door), change: inChunks }),
  createRow({
    what: "of three chunks",
    on: (door) => isPost(door),
    change: (request, door) => ({
      ...(isHttp1(door) ? inChunks(request) : request),
      body: request.body.flatMap((chunk) => [
        chunk.subarray(0, 1),
        chunk.subarray(1, 2),
        chunk.subarray(2),
      ]),
    }),
  }),
  createRow({
    what: "a content-length of its own over HTTP/2",
    on: (door) => isPost(door) && !isHttp1(door),
    change: (request) => ({
      ...request,
      headers: [...request.headers, ["content-length", String(request.body[0]?.byteLength)]],
    }),
  }),
];

const readLimits = [1, 2, 3, 4, 13, 14, 15].flatMap((readMaxBytes) => [
  createRow({
    what: `readMaxBytes ${readMaxBytes}`,
    setup: { readMaxBytes, gate: true, interceptors: 1 },
  }),
  createRow({
    what: `readMaxBytes ${readMaxBytes}, for the service`,
    setup: { readMaxBytes: 1, service: { readMaxBytes } },
  }),
  createRow({
    what: `readMaxBytes ${readMaxBytes}, in chunks`,
    on: (door) => isPost(door) && isHttp1(door),
    setup: { readMaxBytes },
    change: inChunks,
  }),
  createRow({
    what: `readMaxBytes ${readMaxBytes}, compressed`,
    setup: { readMaxBytes },
    call: { compression: "gzip" },
  }),
]);

const bombs = (["gzip", "br"] as const).map((compression) =>
  createRow({
    what: `little in ${compression} that is much`,
    setup: { readMaxBytes: 5000 },
    call: { compression, message: { string: "a".repeat(100_000) } },
    on: (door) => !isGet(door),
  }),
);

const largeBody = createRow({
  what: "a body of 300 kB",
  on: isPost,
  call: { message: { string: "é".repeat(150_000) } },
});

const tooLarge = createRow({
  what: "a body of 300 kB that is too large",
  on: isPost,
  setup: { readMaxBytes: 1000 },
  call: { message: { string: "é".repeat(150_000) } },
});

const writeLimits = [1, 2, 3, 14, 15].flatMap((writeMaxBytes) => [
  createRow({
    unlike: writeMaxBytes <= 3 ? unlike.unserializable : undefined,
    what: `writeMaxBytes ${writeMaxBytes}`,
    setup: { writeMaxBytes, interceptors: 1 },
  }),
  createRow({
    unlike: writeMaxBytes <= 3 ? unlike.unserializable : undefined,
    what: `writeMaxBytes ${writeMaxBytes}, compressed`,
    setup: { writeMaxBytes, compressMinBytes: 1 },
    call: { compression: "gzip" },
  }),
]);

const errorAndLimit = createRow({
  what: "writeMaxBytes does not hold for an error",
  setup: { writeMaxBytes: 1 },
  script: { implementation: { ends: { do: "throw", error: { kind: "error", message: "x" } } } },
});

const unfinished = createRow({
  what: "a refusal by the gate does not wait for the body",
  setup: { gate: true },
  on: isPost,
  script: {
    gate: { do: "refuse", error: { kind: "connect", code: 16, message: "no" } },
    implementation: { ends: { do: "echo" } },
  },
  change: (request, door) => ({
    ...request,
    end: "open",
    ...(isHttp1(door) ? { framing: "chunked" } : {}),
  }),
});

const earlyRefusals: readonly (readonly [
  what: string,
  headers: readonly (readonly [string, string])[],
])[] = [
  [
    "an unknown compression",
    [
      ["grpc-encoding", "unknown"],
      ["content-encoding", "unknown"],
      ["connect-content-encoding", "unknown"],
    ],
  ],
  [
    "a malformed deadline",
    [
      ["grpc-timeout", "x"],
      ["connect-timeout-ms", "x"],
    ],
  ],
];

const early = earlyRefusals.map(([what, headers]) =>
  createRow({
    unlike: unlike.refusal,
    what: `${what} does not wait for the body`,
    on: isPost,
    call: { headers },
    change: (request, door) => ({
      ...request,
      end: "open",
      ...(isHttp1(door) ? { framing: "chunked" } : {}),
    }),
  }),
);

const openTooLarge = createRow({
  what: "a body that is too large is not awaited",
  on: isPost,
  setup: { readMaxBytes: 2 },
  change: (request, door) => ({
    ...request,
    end: "open",
    ...(isHttp1(door) ? { framing: "chunked" } : {}),
  }),
});

const openExtra = createRow({
  unlike: unlike.reading,
  what: "a second message is not awaited to its end",
  on: isEnveloped,
  call: { body: [Buffer.concat([one, one])] },
  change: (request, door) => ({
    ...request,
    end: "open",
    ...(isHttp1(door) ? { framing: "chunked" } : {}),
  }),
});

const jsonOptions = [
  { alwaysEmitImplicit: true },
  { useProtoFieldName: true },
  { enumAsInteger: true },
  { ignoreUnknownFields: false },
].flatMap((options) => [
  createRow({
    what: `JSON with ${JSON.stringify(options)}`,
    on: isJson,
    setup: { jsonOptions: options },
    call: {
      bytes: Buffer.from(
        '{"optionalInt32":1,"genre":"GENRE_NOVEL","nothing":1}'.replace(
          options.ignoreUnknownFields === false ? "never" : ',"nothing":1',
          "",
        ),
      ),
    },
  }),
  createRow({
    what: `JSON with ${JSON.stringify(options)}, for the service`,
    on: isJson,
    setup: { jsonOptions: { alwaysEmitImplicit: true }, service: { jsonOptions: options } },
    call: { bytes: Buffer.from('{"optionalInt32":1,"genre":"GENRE_NOVEL","nothing":1}') },
  }),
]);

const binaryOptions = [{ readUnknownFields: false }, { writeUnknownFields: false }].flatMap(
  (options) => [
    createRow({
      what: `binary with ${JSON.stringify(options)}`,
      setup: { binaryOptions: options },
      call: { bytes: bytes(0x72, 1, 0x61, 0xf8, 0x7f, 1) },
      on: (door) => !isJson(door),
    }),
    createRow({
      what: `binary with ${JSON.stringify(options)}, for the service`,
      setup: { service: { binaryOptions: options } },
      call: { bytes: bytes(0x72, 1, 0x61, 0xf8, 0x7f, 1) },
      on: (door) => !isJson(door),
    }),
  ],
);

const plainBody = createRow({
  what: "an envelope where none belongs",
  on: isConnect,
  call: { body: [one] },
});

export const bodyRows: readonly Row[] = [
  ...enveloped,
  ...asMessage,
  ...lengths.filter(({ cases }) => cases.length > 0),
  ...chunked,
  ...readLimits,
  ...bombs,
  largeBody,
  tooLarge,
  ...writeLimits,
  errorAndLimit,
  unfinished,
  ...early,
  openTooLarge,
  openExtra,
  ...jsonOptions,
  ...binaryOptions,
  plainBody,
];
