/** Compression: of the request, of the response, and its negotiation. */
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { envelope } from "../../support/envelope.ts";
import type { Compression } from "../request.ts";
import type { Setup } from "../setup.ts";
import {
  createRow,
  type Door,
  echo,
  isConnect,
  isEnveloped,
  isGrpc,
  isPost,
  isProto,
  namesOf,
  type Row,
  unlike,
} from "./table.ts";

const compressions: readonly Compression[] = ["gzip", "br"];
const small: Setup = { compressMinBytes: 1 };
const large = { string: "a".repeat(2000) };

const known = compressions.flatMap((compression) => [
  createRow({ what: `a request in ${compression}`, call: { compression } }),
  createRow({
    what: `a request and its answer in ${compression}`,
    setup: small,
    call: { compression },
  }),
  createRow({
    what: `an empty message in ${compression}`,
    setup: small,
    call: { compression, bytes: new Uint8Array() },
  }),
  createRow({
    what: `no bytes at all, in ${compression}`,
    on: isPost,
    call: (door) => ({
      headers: [[namesOf(door).encoding, compression]],
      body: [isEnveloped(door) ? envelope("", 1) : new Uint8Array()],
    }),
  }),
  createRow({
    what: `${compression} that is not`,
    call: { compression, headers: [] },
    change: (request, door) => broken(request, door, Buffer.from("no such thing")),
  }),
  createRow({
    what: `${compression}, which is not accepted`,
    unlike: unlike.refusal,
    setup: { acceptCompression: compression === "br" ? ["gzip"] : ["br"] },
    call: { compression },
  }),
  createRow({
    what: `${compression}, and none is accepted`,
    unlike: unlike.refusal,
    setup: { acceptCompression: [] },
    call: { compression },
  }),
  createRow({
    what: `${compression} declared, the envelope plain`,
    on: isEnveloped,
    setup: small,
    call: (door) => ({ headers: [[namesOf(door).encoding, compression]], flags: 0 }),
  }),
]);

function broken<T extends { readonly body: readonly Uint8Array[] }>(
  request: T,
  door: Door,
  bytes: Buffer,
): T {
  if (!isPost(door)) return request;
  return { ...request, body: [isEnveloped(door) ? envelope(bytes, 1) : bytes] };
}

/** Gzip that is invalid in its middle, at its end, or after it. */
const whole = gzipSync(Buffer.from("r\x01a", "latin1"));
const bytesOfGzip: readonly (readonly [what: string, bytes: Buffer])[] = [
  ["with a wrong checksum", Buffer.concat([whole.subarray(0, -8), Buffer.alloc(8)])],
  ["with bytes behind it", Buffer.concat([whole, Buffer.from("more")])],
  ["two members of it", Buffer.concat([whole, gzipSync(Buffer.alloc(0))])],
  ["deflate in its place", deflateSync(Buffer.from("r\x01a", "latin1"))],
  ["brotli in its place", brotliCompressSync(Buffer.from("r\x01a", "latin1"))],
];

const wrongGzip = bytesOfGzip.map(([what, bytes]) =>
  createRow({
    what: `gzip ${what}`,
    on: isPost,
    call: { compression: "gzip" },
    change: (request, door) => broken(request, door, bytes),
  }),
);

const requested = [
  ...["identity", "", "GZIP", "gzip ", "deflate", "x-gzip", "gzip, gzip", "identity, gzip", "*"],
].map((encoding) =>
  createRow({
    unlike: /^(identity|gzip )$/.test(encoding) ? undefined : unlike.refusal,
    what: `a request in ${JSON.stringify(encoding)}`,
    setup: small,
    call: (door) =>
      isPost(door)
        ? { headers: [[namesOf(door).encoding, encoding]] }
        : { query: [["compression", encoding]] },
  }),
);

const accepted = [
  ...["gzip", "br", "identity", "", "gzip,br", "br,gzip", "br , gzip", "identity,gzip", "deflate"],
  ...["deflate, br", "gzip;q=1.0", "gzip;q=0", "br;q=0.5, gzip;q=1.0", "GZIP", "*", "gzip,gzip"],
  ...[", ,gzip", "gzip\tbr", "unknown,identity", "gzip ;q=1,br", ","],
];

const acceptedRows = accepted.flatMap((list) => [
  createRow({
    what: `accepts ${JSON.stringify(list)}`,
    setup: small,
    call: (door) => ({ headers: [[namesOf(door).acceptEncoding, list]] }),
  }),
  createRow({
    what: `accepts ${JSON.stringify(list)}, and sends gzip`,
    on: isProto,
    setup: small,
    call: (door) => ({ compression: "gzip", headers: [[namesOf(door).acceptEncoding, list]] }),
  }),
]);

const refused = createRow({
  what: "a compressed error",
  setup: small,
  script: {
    implementation: {
      ends: { do: "throw", error: { kind: "connect", code: 5, message: "not there" } },
    },
  },
  call: (door) => ({ headers: [[namesOf(door).acceptEncoding, "gzip"]] }),
});

const sizes = [1, 3, 4, 2003, 2004, 2005].map((compressMinBytes) =>
  createRow({
    what: `at least ${compressMinBytes} bytes are compressed`,
    setup: { compressMinBytes },
    call: (door) => ({
      message: compressMinBytes < 10 ? { string: "a" } : large,
      headers: [[namesOf(door).acceptEncoding, "gzip"]],
    }),
  }),
);

const byDefault = [1020, 1021, 1022, 1300].map((length) =>
  createRow({
    what: `about as large as what is compressed by default: ${length}`,
    call: (door) => ({
      message: { string: "a".repeat(length) },
      headers: [[namesOf(door).acceptEncoding, "br"]],
    }),
  }),
);

const ofAnotherProtocol = createRow({
  what: "the encodings of the other protocols",
  setup: small,
  script: echo,
  on: isPost,
  call: (door) => ({
    headers: isGrpc(door)
      ? [
          ["content-encoding", "unknown"],
          ["accept-encoding", "gzip"],
        ]
      : [
          ["grpc-encoding", "unknown"],
          ["grpc-accept-encoding", "gzip"],
          ...(isConnect(door)
            ? ([
                ["connect-content-encoding", "unknown"],
                ["connect-accept-encoding", "gzip"],
              ] as const)
            : []),
        ],
  }),
});

export const encodingRows: readonly Row[] = [
  ...known,
  ...wrongGzip,
  ...requested,
  ...acceptedRows,
  refused,
  ...sizes,
  ...byDefault,
  ofAnotherProtocol,
];
