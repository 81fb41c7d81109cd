/** Sends random messages of `EveryField` from a thread of its own, until it is told to stop. */
import { once } from "node:events";
import http2 from "node:http2";
import { parentPort, workerData } from "node:worker_threads";
import { gzipSync } from "node:zlib";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { envelope } from "../../../packages/gateway/test/support/envelope.ts";
import { createRandom, type Random } from "../random.ts";

export interface SenderSetup {
  readonly url: string;
  readonly seed: number;
}

/** One message of `EveryField`, with as many of its kind. */
interface Shape {
  readonly json: (count: number) => string;
  readonly binary: (count: number) => Uint8Array;
}

const { LengthDelimited } = WireType;

const repeat = (count: number, one: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => one(n)).join(",");

/** So many messages in a field. */
const fields =
  (number: number, one: (writer: BinaryWriter, n: number) => void) => (count: number) => {
    const writer = new BinaryWriter();
    for (let n = 0; n < count; n++) {
      writer.tag(number, LengthDelimited).fork();
      one(writer, n);
      writer.join();
    }
    return writer.finish();
  };

/** Message in message, from the innermost. */
const nested = (number: number) => (count: number) => {
  let bytes = new Uint8Array();
  for (let depth = 0; depth < Math.min(count, 2000); depth++) bytes = bytesOf(number, bytes);
  return bytes;
};

function bytesOf(number: number, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new BinaryWriter().tag(number, LengthDelimited).bytes(bytes).finish();
}

const emptyType = "type.googleapis.com/google.protobuf.Empty";
const anyOfAny = JSON.stringify({ "@type": emptyType, value: {} });

const shapes: Readonly<Record<string, Shape>> = {
  "empty messages": {
    json: (count) => `{"children":[${repeat(count, () => "{}")}]}`,
    binary: fields(34, () => {}),
  },
  "entries of a map": {
    json: (count) => `{"stringByString":{${repeat(count, (n) => `"${n}":""`)}}}`,
    binary: fields(35, (writer, n) => writer.tag(1, LengthDelimited).string(`${n}`)),
  },
  "messages in messages": {
    json: (count) => `${'{"child":'.repeat(count)}{}${"}".repeat(count)}`,
    binary: nested(24),
  },
  "lists in a list": {
    json: (count) => `{"value":${"[".repeat(count)}${"]".repeat(count)}}`,
    binary: nested(63),
  },
  "messages of any type": {
    json: (count) => `{"anyList":[${repeat(count, () => anyOfAny)}]}`,
    binary: fields(68, (writer) => writer.tag(1, LengthDelimited).string(emptyType)),
  },
  numbers: {
    json: (count) => `{"int64List":[${repeat(count, () => "1")}]}`,
    binary: (count) => bytesOf(28, new Uint8Array(count)),
  },
  bytes: {
    json: (count) => `{"bytes":"${Buffer.alloc(8 * count).toString("base64")}"}`,
    binary: (count) => bytesOf(15, new Uint8Array(8 * count)),
  },
  "unknown fields": {
    json: (count) => `{${repeat(count, (n) => `"unknown${n}":1`)}}`,
    binary: (count) => Buffer.alloc(4 * count, Buffer.of(0xa2, 0x06, 1, 0x78)),
  },
};

const sizes = [10, 1000, 50_000, 400_000, 1_300_000] as const;

interface Way {
  readonly path: string;
  readonly type: string;
  readonly isJson?: boolean;
  /** How many times its message is sent; in envelopes, unless it is undefined. */
  readonly messages?: number;
}

const service = "/library.v1.FieldService";
const ways: readonly Way[] = [
  { path: "/v1/fields", type: "application/json", isJson: true },
  { path: `${service}/Echo`, type: "application/json", isJson: true },
  { path: `${service}/Echo`, type: "application/proto" },
  { path: `${service}/Echo`, type: "application/grpc", messages: 1 },
  { path: `${service}/Echo`, type: "application/grpc-web", messages: 1 },
  { path: `${service}/Exchange`, type: "application/grpc", messages: 4 },
  { path: `${service}/Exchange`, type: "application/connect+json", isJson: true, messages: 4 },
];

function randomRequest(random: Random) {
  const shape = random.pick(Object.values(shapes));
  const { path, type, isJson = false, messages } = random.pick(ways);
  const size = random.pick(sizes);
  const message = isJson ? Buffer.from(shape.json(size)) : Buffer.from(shape.binary(size));
  const isPacked = random.chance(0.5);
  const data = isPacked ? gzipSync(message, { level: 1 }) : message;
  const headers = { ":method": "POST", ":path": path, "content-type": type };
  if (messages === undefined) {
    return { headers: { ...headers, ...(isPacked && { "content-encoding": "gzip" }) }, body: data };
  }
  const encoding = type.startsWith("application/grpc")
    ? "grpc-encoding"
    : "connect-content-encoding";
  return {
    headers: { ...headers, te: "trailers", ...(isPacked && { [encoding]: "gzip" }) },
    body: Buffer.concat(Array<Buffer>(messages).fill(envelope(data, isPacked ? 1 : 0))),
  };
}

/** At a time. */
const senders = 8;

async function send(url: string, random: Random): Promise<number> {
  // Another address than that of small calls, which would share its part of the budget.
  const session = http2.connect(url, { localAddress: "127.0.0.2" } as object);
  session.on("error", () => {});
  let sent = 0;
  for (; !hasEnd && !session.destroyed; sent++) {
    const { headers, body } = randomRequest(random);
    const stream = session.request(headers).resume();
    stream.on("error", () => {});
    stream.end(body);
    await new Promise((resolve) => stream.once("close", resolve));
  }
  session.destroy();
  return sent;
}

let hasEnd = false;
const { url, seed } = workerData as SenderSetup;
const random = createRandom(seed, "messages");
const counts = Array.from({ length: senders }, () => send(url, random));
if (parentPort === null) throw new Error("this is a thread");
await once(parentPort, "message");
hasEnd = true;
parentPort.postMessage((await Promise.all(counts)).reduce((sum, one) => sum + one));
