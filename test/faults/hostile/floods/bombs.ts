/** Bodies and headers that are small to send, or expensive to read. */
import { gzipSync } from "node:zlib";
import { envelope } from "../../../../packages/gateway/test/support/envelope.ts";
import { type RawRequest, rawProtocols } from "../../../support/protocol/raw.ts";
import type { Attack, ContentAttack } from "../attack.ts";
import { attackAll } from "../attackers.ts";
import { http1, strangerToken } from "../wire.ts";
import type { Flood } from "./flood.ts";

const megabyte = 1024 * 1024;
const zeros = gzipSync(Buffer.alloc(64 * megabyte));
const nested = gzipSync(gzipSync(zeros));
const spaces = gzipSync(Buffer.from(`{"id":1,"name":"bomb"}${" ".repeat(32 * megabyte)}`));

/** As deep, long or repetitive as a body may be. */
const bodies: Readonly<Record<string, string>> = {
  "a million brackets": "[".repeat(megabyte),
  "half a million levels": "[".repeat(megabyte / 2) + "]".repeat(megabyte / 2),
  "100,000 levels of objects": `${'{"x":'.repeat(100_000)}1${"}".repeat(100_000)}`,
  "100,000 members": `{${Array.from({ length: 80_000 }, (_, i) => `"k${i}":1`).join(",")}}`,
  "the same member 100,000 times": `{${Array(100_000).fill('"id":1').join(",")}}`,
  "a number of a million digits": `{"id":${"9".repeat(megabyte - 100)},"name":"x"}`,
  "an exponent of a million digits": `{"id":1e${"9".repeat(megabyte - 100)},"name":"x"}`,
  "a million zeros behind the point": `{"id":1.${"0".repeat(megabyte - 100)}1,"name":"x"}`,
  "a million backslashes": `{"id":1,"name":"${"\\\\".repeat(megabyte / 2 - 20)}\\u0000"}`,
  "a name of a million escapes": `{"id":1,"name":"${"\\u0000".repeat(170_000)}"}`,
  "an unknown field with a long name": `{"id":1,"name":"x","${"k".repeat(megabyte - 100)}":1}`,
  "numbers without an end": `[${"1,".repeat(megabyte / 2 - 10)}1]`,
  "empty strings without an end": `[${'"",'.repeat(megabyte / 3 - 10)}""]`,
  "fractions without an end": `[${"1.5e300,".repeat(megabyte / 8 - 10)}1]`,
  "objects without an end": `[${'{"a":1.5},'.repeat(megabyte / 10 - 10)}{}]`,
};

/** A megabyte of protobuf with two bytes for each field. */
const fields: Readonly<Record<string, Buffer>> = {
  "unknown numbers": Buffer.alloc(megabyte - 16, Buffer.of(0x78, 0x01)),
  "unknown texts": Buffer.alloc(megabyte - 16, Buffer.of(0x7a, 0x00)),
  "unknown groups": Buffer.alloc(megabyte - 16, Buffer.of(0x7b, 0x7c)),
  "empty plants": Buffer.alloc(megabyte - 16, Buffer.of(0x0a, 0x00)),
};

function bomb(what: string, request: RawRequest): ContentAttack {
  return { ...request, what: `bomb: ${what}`, isBomb: true };
}

const packed: readonly ContentAttack[] = Object.entries({ zeros, nested, spaces }).flatMap(
  ([what, message]) => {
    const body = Buffer.concat(Array(20).fill(envelope(message.subarray(0, 200_000), 0x81)));
    return rawProtocols.flatMap((protocol) => {
      const request = protocol.request(message, { coding: "gzip" });
      const whole = bomb(`${protocol.name}, ${what}`, request);
      if (!protocol.name.startsWith("gRPC-Web")) return [whole];
      return [whole, bomb(`${protocol.name}, ${what} among the ends`, { ...request, body })];
    });
  },
);

/** Over both versions of HTTP. */
function large(protocol: string, what: string, message: string | Buffer): ContentAttack[] {
  return rawProtocols
    .filter(({ name }) => name.startsWith(protocol))
    .map(({ request }) => bomb(what, request(Buffer.from(message as string))));
}

const overLimit = (text: string) => text + " ".repeat(2 * megabyte);

const unpacked: readonly ContentAttack[] = [
  ...Object.entries(bodies).flatMap(([what, text]) => large("REST", what, text)),
  ...Object.entries(fields).flatMap(([what, bytes]) => large("Connect binary", what, bytes)),
  // Without a Content-Length, so the bytes must be counted.
  ...large("REST", "white space over the limit", overLimit('{"id":2,"name":"bomb"}')),
  ...large("Connect JSON", "a message over it", overLimit('{"plant":{"id":2,"name":"bomb"}}')),
];

function head(lines: string): Attack {
  const what = `bomb: ${JSON.stringify(lines.slice(0, 20))}…`;
  return { what, version: "1.1", bytes: http1("POST /plants", strangerToken, `${lines}\r\n`) };
}

const heads: readonly Attack[] = [
  head(`X: ${"x".repeat(4 * megabyte)}\r\n`),
  head("X: x\r\n".repeat(200_000)),
  head(`${"x".repeat(megabyte)}: x\r\n`),
  head(`Cookie: ${"a=b; ".repeat(100_000)}\r\n`),
  head(`Content-Length: ${"0".repeat(megabyte)}1\r\n`),
  head(`X: x\r\n${" folded\r\n".repeat(100_000)}`),
  head(`Transfer-Encoding: ${"chunked,".repeat(100_000)}chunked\r\n`),
  head(`Accept-Encoding: ${"gzip;q=0.1,".repeat(1000)}br\r\nContent-Length: 0\r\n`),
  head(`Content-Type: application/json;${"x=y;".repeat(3000)}\r\nContent-Length: 0\r\n`),
];

const attacks: readonly Attack[] = [...packed, ...unpacked, ...heads];

export const bombs: Flood = {
  name: "bombs",
  async run(target) {
    return await attackAll(target.random.shuffle(attacks).values(), { ...target, atOnce: 2 });
  },
};
