import { gzipSync } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import type { Holding } from "../../src/http/body-budget.ts";
import {
  type EnvelopeReading,
  readEnvelope,
  readEnvelopes,
  requestErrors,
  writeEnvelope,
} from "../../src/rpc/envelope.ts";
import { EnvelopeSplitter, wrapEnvelope } from "../../src/rpc/envelope-splitter.ts";
import { compressionGzip } from "../../src/rpc/gzip.ts";
import { envelope } from "../support/envelope.ts";
import { createMemoryExchange } from "../support/memory-exchange.ts";

const reading: EnvelopeReading<string> = {
  compression: compressionGzip,
  readMaxBytes: 100,
  endFlag: 0x80,
  errors: requestErrors("unary"),
  parse(bytes) {
    const text = Buffer.from(bytes).toString();
    if (text.startsWith("bad")) throw new ConnectError(text, Code.InvalidArgument);
    return text;
  },
};
const message = envelope("message");
const packed = envelope(gzipSync("packed"), 1);
const end = envelope(gzipSync("bad, but none"), 0x81);

type Changes = Partial<EnvelopeReading<string>> & { readonly holding?: Holding };

function read(body: readonly Uint8Array[], { holding, ...changes }: Changes = {}) {
  const exchange = { ...createMemoryExchange({ body }), holding };
  return readEnvelope(exchange, { ...reading, ...changes });
}

async function readAll(body: readonly Uint8Array[], { holding, ...changes }: Changes = {}) {
  const exchange = { ...createMemoryExchange({ body }), holding };
  const messages: string[] = [];
  for await (const one of readEnvelopes(exchange, { ...reading, ...changes })) messages.push(one);
  return messages;
}

test("an envelope that holds no message is passed over", async () => {
  expect(await read([message, end])).toBe("message");
  expect(await read([end, message])).toBe("message");
  expect(await readAll([end, message, packed])).toEqual(["message", "packed"]);
  expect(await readAll([message, packed, end])).toEqual(["message", "packed"]);
});

test("a second one is refused: each costs what it unpacks to", async () => {
  const refusal = { code: Code.InvalidArgument, rawMessage: expect.stringContaining("extra end") };
  await expect(read([end, end, message])).rejects.toMatchObject(refusal);
  await expect(readAll([end, end, message])).rejects.toMatchObject(refusal);
});

test("without an end, its flag means nothing", async () => {
  const twice = [envelope("a", 0x80), envelope("b", 0x80)];
  expect(await readAll(twice, { endFlag: 0 })).toEqual(["a", "b"]);
});

test("a compressed message is decompressed", async () => {
  expect(await read([packed])).toBe("packed");
});

describe.each([
  ["one message", read],
  ["messages", readAll],
])("reading %s", (_what, readBody) => {
  const wrong = { code: Code.InvalidArgument };
  const incomplete = { ...wrong, rawMessage: "protocol error: incomplete envelope" };
  test.each<[what: string, body: Uint8Array[], changes: Changes, error: object]>([
    ["a head alone", [message.subarray(0, 4)], {}, incomplete],
    ["a message cut short", [message.subarray(0, -1)], {}, incomplete],
    ["a message that is wrong", [envelope("bad")], {}, wrong],
    ["a message that is not compressed as it says", [envelope("bad", 1)], {}, wrong],
    ["an end that is not compressed as it says", [message, envelope("bad", 0x81)], {}, wrong],
    ["a message above the limit", [envelope("a".repeat(101))], {}, { code: 8 }],
    ["its length alone", [envelope("a".repeat(101)).subarray(0, 5)], {}, { code: 8 }],
    [
      "one that unpacks above the limit",
      [envelope(gzipSync(Buffer.alloc(101)), 1)],
      {},
      { code: 8 },
    ],
    ["a compression that was not announced", [packed], { compression: null }, { code: 13 }],
    [
      "an encoding of which something is left over",
      [message],
      {
        assertDecoded: () => {
          throw new ConnectError("left over", Code.InvalidArgument);
        },
      },
      { ...wrong, rawMessage: "left over" },
    ],
  ])("fails for %s", async (_case, body, changes, error) => {
    await expect(readBody(body, changes)).rejects.toMatchObject(error);
  });

  test("undoes the encoding of each piece", async () => {
    const pieces = ["00000", "0000161"].map((hex) => Buffer.from(hex));
    let rest = "";
    const decode = (piece: Uint8Array) => {
      const hex = rest + Buffer.from(piece).toString();
      const whole = hex.length - (hex.length % 2);
      rest = hex.slice(whole);
      return Buffer.from(hex.slice(0, whole), "hex");
    };
    expect([await readBody(pieces, { decode })].flat()).toEqual(["a"]);
  });
});

describe("one message", () => {
  const unimplemented = (text: string) => ({
    code: Code.Unimplemented,
    rawMessage: `protocol error: ${text} input message for unary method`,
  });

  test("is missing", async () => {
    await expect(read([])).rejects.toMatchObject(unimplemented("missing"));
    await expect(read([end])).rejects.toMatchObject(unimplemented("missing"));
  });

  test.each([
    ["another", [message, packed]],
    ["another, in one piece", [Buffer.concat([packed, message])]],
  ])("is not followed by %s", async (_what, body) => {
    await expect(read(body)).rejects.toMatchObject(unimplemented("received extra"));
  });

  test.each([
    ["compressed", [envelope("bad", 1), message]],
    ["in an end", [envelope("bad", 0x81), message, message]],
    ["after another", [message, envelope("bad")]],
  ])("that is wrong comes before one too many, %s", async (_what, body) => {
    await expect(read(body)).rejects.toMatchObject({ code: Code.InvalidArgument });
  });

  test("does not hold up an error that is not about messages", async () => {
    const left = new Error("left");
    const never = { ...compressionGzip, decompress: () => new Promise<never>(() => {}) };
    const exchange = {
      ...createMemoryExchange(),
      async readBody<T>(sink: { push(chunk: Uint8Array): void }): Promise<T> {
        sink.push(packed);
        throw left;
      },
    };
    const asked = readEnvelope(exchange, { ...reading, compression: never });
    await expect(asked).rejects.toBe(left);
  });
});

/** Has room at once, or when it is told so. Records what is held. */
function createHolding(untilRoom?: Promise<void>) {
  const steps: string[] = [];
  const holding = {
    add(bytes: number) {
      steps.push(`add ${bytes}`);
      return untilRoom;
    },
    async make(bytesMax: number, work: () => Promise<Uint8Array>) {
      steps.push(`make ${bytesMax}`);
      return await work();
    },
  } as unknown as Holding;
  return { holding, steps };
}

test("messages hold what has come of the next, and what they unpack to until they are parsed", async () => {
  const { holding, steps } = createHolding();
  const bytes = Buffer.concat([message, packed, message]);
  const pieces = [bytes.subarray(0, 3), bytes.subarray(3, 14), bytes.subarray(14)];
  expect(await readAll(pieces, { holding })).toEqual(["message", "packed", "message"]);
  expect(steps).toEqual(["add 3", "add -1", "make 6", "add -8"]);
});

test("one message is unpacked when there is room", async () => {
  const { holding, steps } = createHolding();
  await read([packed], { holding });
  expect(steps).toEqual(["make 6"]);
});

test("messages are not read on until there is room", async () => {
  const room = Promise.withResolvers<void>();
  const { holding, steps } = createHolding(room.promise);
  const reading = readAll([message.subarray(0, 3), message.subarray(3)], { holding });
  await new Promise((resolve) => setImmediate(resolve));
  expect(steps).toEqual(["add 3"]);
  room.resolve();
  expect(await reading).toEqual(["message"]);
});

describe("a body of envelopes", () => {
  const bytes = Buffer.concat([
    envelope("a"),
    envelope("", 1),
    envelope("x".repeat(300), 0x80),
    envelope("b", 0xff),
  ]);

  test.each([1, 2, 4, 5, 6, 7, 100, 1000])("in pieces of %d bytes is split", (length) => {
    const splitter = new EnvelopeSplitter(300);
    const found: unknown[] = [];
    for (let at = 0; at < bytes.length; at += length) {
      const envelopes = splitter.push(bytes.subarray(at, at + length));
      found.push(...envelopes.map(({ flags, data }) => [flags, Buffer.from(data).toString()]));
    }
    expect(found).toEqual([
      [0, "a"],
      [1, ""],
      [0x80, "x".repeat(300)],
      [0xff, "b"],
    ]);
    expect(splitter.pendingBytes).toBe(0);
  });

  test("has the length in its head", () => {
    const head = Buffer.from([0, 1, 2, 3, 4]);
    const length = 0x01020304;
    expect(new EnvelopeSplitter(length).push(head)).toEqual([]);
    const tooLarge = expect.objectContaining({ code: Code.ResourceExhausted });
    expect(() => new EnvelopeSplitter(length - 1).push(head)).toThrow(tooLarge);
    const splitter = new EnvelopeSplitter(length - 1);
    splitter.push(head.subarray(0, 4));
    expect(splitter.pendingBytes).toBe(4);
    expect(() => splitter.push(head.subarray(4))).toThrow(tooLarge);
  });
});

test("a message is put into an envelope with its flags and length", () => {
  const data = new Uint8Array(0x01020304);
  const wrapped = wrapEnvelope(0x81, data);
  expect([...wrapped.subarray(0, 5)]).toEqual([0x81, 1, 2, 3, 4]);
  expect(wrapped).toHaveLength(5 + data.length);
  expect([...wrapEnvelope(0, Buffer.from("ab"))]).toEqual([...envelope("ab")]);
});

test.each<[text: string, minBytes: number, isCompressed: boolean]>([
  ["abc", 3, true],
  ["abc", 4, false],
  ["", 0, true],
])("%j is compressed from %d bytes on: %s", async (text, minBytes, isCompressed) => {
  const flags = isCompressed ? 0x81 : 0x80;
  const data = isCompressed ? gzipSync(text) : text;
  const written = await writeEnvelope(text, compressionGzip, minBytes, 0x80);
  expect(Buffer.from(written)).toEqual(envelope(data, flags));
  expect(Buffer.from(await writeEnvelope(text, null, minBytes))).toEqual(envelope(text));
});
