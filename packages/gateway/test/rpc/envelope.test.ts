import { gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { readEnvelope, requestErrors } from "../../src/rpc/envelope.ts";
import { wrapEnvelope } from "../../src/rpc/envelope-splitter.ts";
import { compressionGzip } from "../../src/rpc/gzip.ts";
import { createMemoryExchange } from "../support/memory-exchange.ts";

const reading = {
  compression: compressionGzip,
  readMaxBytes: 100,
  endFlag: 0x80,
  errors: requestErrors("unary"),
  parse: (bytes: Uint8Array) => Buffer.from(bytes).toString(),
};
const message = wrapEnvelope(0, Buffer.from("message"));
const end = wrapEnvelope(0x81, gzipSync("end"));

function read(...body: Uint8Array[]): Promise<string> {
  const exchange = createMemoryExchange({ body });
  return readEnvelope(exchange, reading);
}

test("an envelope that holds no message is passed over", async () => {
  expect(await read(message, end)).toBe("message");
  expect(await read(end, message)).toBe("message");
});

test("a second one is refused: each costs what it unpacks to", async () => {
  await expect(read(end, end, message)).rejects.toMatchObject({ code: Code.InvalidArgument });
});

test("a message may come byte by byte", async () => {
  const bytes = [...message].map((byte) => Uint8Array.of(byte));
  expect(await read(...bytes)).toBe("message");
});
