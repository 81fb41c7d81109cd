/**
 * Invalid requests of Connect, gRPC and gRPC-Web, and the code that rejects each. The tests of the
 * gateway have every form of JSON, envelopes, gzip and deadlines.
 */
import { gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { envelope } from "../../../packages/gateway/test/support/envelope.ts";
import { requestBinary, requestJson } from "../protocol/message.ts";
import { rawProtocols } from "../protocol/raw.ts";

export const bodyBytesMax = 64 * 1024;
export const plant = { id: 1n, name: "Basil" };
export const json = requestJson(plant);
const binary = Buffer.from(requestBinary(plant));

export interface Row {
  readonly what: string;
  readonly body: Uint8Array | string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly code: Code;
}

type Bodies = Readonly<Record<string, Uint8Array | string>>;

function refused(code: Code, bodies: Bodies, headers?: Row["headers"]): Row[] {
  const common = { code, ...(headers && { headers }) };
  return Object.entries(bodies).map(([what, body]) => ({ what, body, ...common }));
}

/** JSON that no protocol may accept as a plant. */
const badJson: Bodies = {
  "no end": json.slice(0, -1),
  "a form feed before it": `\f${json}`,
  "invalid UTF-8": Buffer.from('{"plant":{"id":1,"name":"\xff"}}', "latin1"),
  "an escaped U+0000": '{"plant":{"id":1,"name":"a\\u0000"}}',
  null: "null",
  "a null plant": '{"plant":null}',
  "the plant of REST": '{"id":1,"name":"Basil"}',
  "an id out of range": '{"plant":{"id":9223372036854775808,"name":"Basil"}}',
  "a plant twice": '{"plant":{"id":1,"name":"a"},"plant":{"id":1,"name":"Basil"}}',
  "2,000 values in an unknown field": `{"x":[${"1,".repeat(2000)}1],${json.slice(1)}`,
  "30,000 levels": `{"x":${"[".repeat(15_000)}${"]".repeat(15_000)}}`,
};

/** The same in protobuf. */
const badBinary: Bodies = {
  // It can be decoded, and is not a valid plant.
  "an empty message": "",
  "an empty plant": Buffer.of(0x0a, 0x00),
  "U+0000 in the name": Buffer.from(requestBinary({ id: 1n, name: "a\0b" })),
  // It cannot be decoded.
  "bytes that are cut": binary.subarray(0, -1),
  "field number 0": Buffer.of(0x02, 0x01, 0x41),
  "an end of a group that did not begin": Buffer.of(0x0c),
  "a varint of eleven bytes": Buffer.of(0x0a, 0x0d, 0x08, ...Array(11).fill(0xff), 0x01),
  "a length over the message": Buffer.of(0x0a, 0x7f, 0x08, 0x01),
  "2,000 unknown fields": Buffer.concat([binary, Buffer.alloc(4000, Buffer.of(0x78, 0x01))]),
  // The plant is one byte shorter than its fields.
  "a tag that ends behind its plant": Buffer.of(10, 7, 8, 1, 18, 1, 65, 26, 1, 65),
  "an id that has a length": Buffer.of(10, 5, 10, 1, 18, 1, 65),
  "a length over 2^32": Buffer.of(10, 0x85, 0x80, 0x80, 0x80, 0x10, 8, 1, 18, 1, 65),
  "a name that is not UTF-8": withName(0xff),
  "a name with an overlong U+0000": withName(0xc0, 0x80),
};

function withName(...bytes: number[]): Buffer {
  const inner = Buffer.of(0x08, 0x01, 0x12, bytes.length, ...bytes);
  return Buffer.of(0x0a, inner.length, ...inner);
}

const bomb = gzipSync(Buffer.alloc(20 * 1024 * 1024));
const long = `{"plant":{"id":1,"name":"${"x".repeat(bodyBytesMax)}"}}`;

const connectJson: readonly Row[] = [
  ...refused(Code.InvalidArgument, badJson),
  ...refused(Code.InvalidArgument, { "no gzip": json }, { "content-encoding": "gzip" }),
  ...refused(Code.ResourceExhausted, { "a message over the limit": long }),
  ...refused(Code.ResourceExhausted, { "a bomb": bomb }, { "content-encoding": "gzip" }),
  ...refused(Code.Unimplemented, { Brotli: json }, { "content-encoding": "br" }),
  ...refused(Code.InvalidArgument, { "a deadline": json }, { "connect-timeout-ms": "soon" }),
];

const connectBinary: readonly Row[] = refused(Code.InvalidArgument, badBinary);

const enveloped = (bodies: Bodies): Bodies =>
  Object.fromEntries(Object.entries(bodies).map(([what, body]) => [what, envelope(body)]));

/** gRPC and gRPC-Web share their envelopes. */
const grpcBinary: readonly Row[] = [
  ...refused(Code.InvalidArgument, enveloped(badBinary)),
  ...refused(Code.InvalidArgument, {
    "an envelope that is cut": envelope(binary).subarray(0, -1),
    "bytes behind the envelope": Buffer.concat([envelope(binary), Buffer.of(1)]),
  }),
  // gRPC's code for a call without exactly one message.
  ...refused(Code.Unimplemented, {
    "no envelope": "",
    "two messages": Buffer.concat([envelope(binary), envelope(binary)]),
  }),
  ...refused(Code.ResourceExhausted, {
    // Its first bytes look like an envelope of a gigabyte.
    "a message without an envelope": binary,
    "a message over the limit": envelope(requestBinary({ id: 1n, name: long })),
    "an envelope that claims 4 GiB": Buffer.of(0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3),
  }),
  ...refused(Code.ResourceExhausted, { "a bomb": envelope(bomb, 1) }, { "grpc-encoding": "gzip" }),
  ...refused(Code.Unimplemented, { Brotli: envelope(binary, 1) }, { "grpc-encoding": "br" }),
  ...refused(Code.InvalidArgument, { "a deadline": envelope(binary) }, { "grpc-timeout": "soon" }),
];

const grpcJson: readonly Row[] = refused(Code.InvalidArgument, enveloped(badJson));

function face(name: string, contentType: string, rows: readonly Row[]) {
  const protocol = rawProtocols.find((one) => one.name === name);
  if (protocol === undefined) throw new Error(`no protocol is called ${name}`);
  return { name: `${name} (${contentType})`, protocol, contentType, rows };
}

export const faces = [
  face("Connect JSON over HTTP/1.1", "application/json", connectJson),
  face("Connect binary over HTTP/2", "application/proto", connectBinary),
  face("gRPC over HTTP/2", "application/grpc", grpcBinary),
  face("gRPC over HTTP/2", "application/grpc+json", grpcJson),
  face("gRPC-Web over HTTP/1.1", "application/grpc-web", grpcBinary),
  face("gRPC-Web over HTTP/1.1", "application/grpc-web+json", grpcJson),
];
