/**
 * Bodies in valid HTTP, for every protocol: the rows of the tests, generated ones, and mutations.
 */
import { brotliCompressSync, gzipSync } from "node:zlib";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { envelope } from "../../../../packages/gateway/test/support/envelope.ts";
import { rows as restRows } from "../../../support/malformed/rest.ts";
import { faces } from "../../../support/malformed/rpc.ts";
import { createPlantPath, newPlantJson } from "../../../support/protocol/message.ts";
import { restOverHttp1 } from "../../../support/protocol/raw.ts";
import { knownToken } from "../../../support/test-server.ts";
import type { Random } from "../../random.ts";
import type { ContentAttack } from "../attack.ts";
import { mutate } from "../mutate.ts";
import { strangerToken, uint32 } from "../wire.ts";

const json = "application/json";

/** Rows with a valid path, small enough to be sent often. Without a token. */
const rows: readonly ContentAttack[] = [
  ...restRows
    .filter(({ path = "/plants" }) => path === "/plants")
    .map((row) => ({ ...row, name: "REST", protocol: restOverHttp1, contentType: json })),
  ...faces.flatMap(({ rows, ...face }) => rows.map((row) => ({ ...row, ...face }))),
]
  .map(({ name, protocol, contentType, what, body = "", headers }) => ({
    ...{ what: `${name}: ${what}`, version: protocol.version, path: protocol.path },
    headers: { "content-type": contentType, ...headers },
    body: Buffer.from(body as Uint8Array),
  }))
  .filter(({ body }) => body.length < 20_000);

const texts: readonly string[] = ["", "Basil", "Caf\u00e9", "🌱", "'; --", "\\", '"', "\u0001"];

/** Bytes that are not UTF-8, one example of each class. */
const notUtf8: readonly Buffer[] = [
  ...["80", "c3", "c080", "c1bf", "e08080", "e09fbf", "eda080", "edbfbf", "eda0bcedbcb1", "e282"],
  ...["f0808080", "f08fbfbf", "f09f8c", "f4908080", "f5808080", "f888808080", "fc8480808080"],
  ...["fe", "ff"],
].map((hex) => Buffer.from(hex, "hex"));

/** JSON members that a plant must not have, or must not repeat. */
const extraMembers: readonly string[] = [
  ...['"id":1', '"\\u0069d":1', '"name":"twice"', '"n\\u0061me":"twice"', '"tag":null,"tag":"x"'],
  ...['"__proto__":{"tag":"x"}', '"__proto__":{},"__proto__":{}', '"x":{"y":1,"y":2}'],
  ...['"constructor":{"prototype":{"tag":"x"}}', '"toString":1'],
  `"x":${"[".repeat(200)}${"]".repeat(200)}`,
  `"x":${'{"x":'.repeat(200)}1${"}".repeat(200)}`,
];

/** Paths and types. Those of gRPC need HTTP/2. */
const protocols = [
  ...[`/plants ${json}`, `${createPlantPath} ${json}`],
  ...["proto", "grpc", "grpc+json", "grpc-web+proto", "grpc-web+json"].map(
    (type) => `${createPlantPath} application/${type}`,
  ),
];

/** An almost valid plant, in one protocol, without a token. */
function almostRight(id: bigint, random: Random): ContentAttack {
  const [path = "", type = ""] = random.pick(protocols).split(" ");
  const spoilt = random.chance(0.3) ? random.pick(notUtf8) : Buffer.from("~");
  const [name, tag] = [random.pick(texts), random.pick(texts)];
  let message: Buffer;
  if (type.endsWith("json")) {
    const extra = random.chance(0.3) ? `,${random.pick(extraMembers)}}` : "}";
    const json = newPlantJson({ id, name: `${name}~`, tag }).replace(/\}$/, () => extra);
    const [before = "", after = ""] = (path === "/plants" ? json : `{"plant":${json}}`).split("~");
    message = Buffer.concat([Buffer.from(before), spoilt, Buffer.from(after)]);
  } else {
    const plant = new BinaryWriter().tag(1, 0).int64(id).tag(2, 2);
    plant.bytes(Buffer.concat([Buffer.from(name), spoilt]));
    plant.tag(3, 2).string(tag);
    message = Buffer.from(new BinaryWriter().tag(1, 2).bytes(plant.finish()).finish());
  }
  const isPacked = random.chance(0.15);
  const isEnveloped = type.startsWith("application/grpc");
  // Brotli is not supported: a plant that is otherwise valid must be rejected.
  const [packing, pack] = random.chance(0.3)
    ? (["br", brotliCompressSync] as const)
    : (["gzip", gzipSync] as const);
  const packed = isPacked ? pack(message) : message;
  const coding = isEnveloped ? "grpc-encoding" : "content-encoding";
  return {
    what: `${path} ${type}: almost right`,
    version: /grpc(?!-)/.test(type) ? "2" : random.pick(["1.1", "2"] as const),
    path,
    headers: { "content-type": type, ...(isPacked && { [coding]: packing }) },
    body: isEnveloped ? spoilEnvelope(packed, isPacked ? 1 : 0, random) : packed,
  };
}

/** Usually a valid envelope; otherwise one with wrong flags, length or count. */
function spoilEnvelope(message: Buffer, flags: number, random: Random): Buffer {
  const sound = envelope(message, flags);
  if (random.chance(0.6)) return sound;
  const { length } = message;
  const lengths = [0, 1, length - 1, length + 1, 2 ** 32 - 1];
  return random.pick([
    () => envelope(message, random.int(0, 255)),
    () => Buffer.concat([Buffer.of(flags), uint32(random.pick(lengths)), message]),
    () => Buffer.concat([sound, sound]),
    () => Buffer.concat([sound, envelope("grpc-status: 0\r\n", random.pick([0x80, 0x81, 2]))]),
    () => sound.subarray(0, random.int(0, sound.length)),
  ])();
}

/** @param id The id of the plant, if there is one. A mutation may change it. */
export function spoilContent(id: bigint, random: Random): ContentAttack {
  const isAlmostRight = random.chance(0.5);
  const seed = isAlmostRight ? almostRight(id, random) : random.pick(rows);
  const body = isAlmostRight && random.chance(0.5) ? seed.body : mutate(seed.body, random);
  return withToken(random.chance(0.1) ? strangerToken : knownToken, { ...seed, body });
}

/** The unchanged rows, each once. */
export function plainRows(): ContentAttack[] {
  return rows.map((row) => withToken(knownToken, row));
}

function withToken(token: string, attack: ContentAttack): ContentAttack {
  return { ...attack, headers: { authorization: `Bearer ${token}`, ...attack.headers } };
}
