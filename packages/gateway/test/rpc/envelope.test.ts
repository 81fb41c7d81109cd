import { gzipSync } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { describe, expect, test } from "vitest";
import { BodyBudget, Holding } from "../../src/http/body-budget.ts";
import type { Call } from "../../src/rpc/call.ts";
import { compressionGzip } from "../../src/rpc/compression.ts";
import {
  type EnvelopeReading,
  EnvelopeSplitter,
  readEnvelope,
  readEnvelopes,
  requestErrors,
  writeEnvelope,
} from "../../src/rpc/envelope.ts";
import { collect } from "../support/collect.ts";
import { envelope } from "../support/envelope.ts";
import { createMemoryExchange } from "../support/memory-exchange.ts";

const reading: EnvelopeReading<string> = {
  compression: compressionGzip,
  readMaxBytes: 100,
  readMaxValues: 100,
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
  return readEnvelope({ ...createMemoryExchange({ body }), holding }, { ...reading, ...changes });
}

async function readAll(body: readonly Uint8Array[], { holding, ...changes }: Changes = {}) {
  const exchange = { ...createMemoryExchange({ body }), holding };
  return await collect(readEnvelopes(exchange, { ...reading, ...changes }));
}

test("an envelope that holds no message is passed over", async () => {
  expect(await read([message, end])).toBe("message");
  expect(await read([end, message])).toBe("message");
  expect(await read([envelope("bad", 0x80), message])).toBe("message");
  expect(await readAll([end, message, packed])).toEqual(["message", "packed"]);
  expect(await readAll([message, packed, end])).toEqual(["message", "packed"]);
});

test("a second one is refused: each costs what it unpacks to", async () => {
  const refusal = { code: Code.InvalidArgument, rawMessage: expect.stringContaining("extra end") };
  await expect(read([end, end, message])).rejects.toMatchObject(refusal);
  await expect(readAll([end, end, message])).rejects.toMatchObject(refusal);
});

describe.each([
  ["one message", read],
  ["messages", readAll],
])("reading %s", (_what, readBody) => {
  const wrong = { code: Code.InvalidArgument };
  const incomplete = { ...wrong, rawMessage: "protocol error: incomplete envelope" };
  test.each<[what: string, body: Uint8Array[], changes: Changes, error: object]>([
    ["a head alone", [message.subarray(0, 4)], {}, incomplete],
    ["a message that is not compressed as it says", [envelope("bad", 1)], {}, wrong],
    ["an end that is not compressed as it says", [message, envelope("bad", 0x81)], {}, wrong],
    ...[101, 2 ** 8, 2 ** 16, 2 ** 24].map((length): [string, Uint8Array[], Changes, object] => {
      const head = Buffer.alloc(5);
      head.writeUInt32BE(length, 1);
      return [`the length ${length} alone`, [head], {}, { code: 8 }];
    }),
    ["one that unpacks above it", [envelope(gzipSync(Buffer.alloc(101)), 1)], {}, { code: 8 }],
    ...[0x02, 0x82].map((flags): [string, Uint8Array[], Changes, object] => [
      `the unknown flags ${flags}`,
      [envelope("a", flags)],
      {},
      { code: Code.Internal, rawMessage: `protocol error: invalid envelope flags ${flags}` },
    ]),
    ["the end of another protocol", [envelope("a", 0x80)], { endFlag: 0 }, { code: 13 }],
    ["a compression that was not announced", [packed], { compression: null }, { code: 13 }],
  ])("fails for %s", async (_case, body, changes, error) => {
    await expect(readBody(body, changes)).rejects.toMatchObject(error);
  });

  test.each([1, 4, 5, 6])("reads it if its first piece has %d bytes", async (length) => {
    const pieces = [message.subarray(0, length), message.subarray(length)];
    expect([await readBody(pieces)].flat()).toEqual(["message"]);
  });
});

describe("one message", () => {
  const unimplemented = (text: string) => ({
    code: Code.Unimplemented,
    rawMessage: `protocol error: ${text} input message for unary method`,
  });

  test("is missing", async () => {
    await expect(read([end])).rejects.toMatchObject(unimplemented("missing"));
  });

  test("is not followed by another in its piece", async () => {
    const both = Buffer.concat([packed, message]);
    await expect(read([both])).rejects.toMatchObject(unimplemented("received extra"));
  });

  test.each([
    ["compressed", [envelope("bad", 1), message]],
    ["in an end", [envelope("bad", 0x81), message, message]],
    ["after another", [message, envelope("bad")]],
  ])("that is wrong comes before one too many, %s", async (_what, body) => {
    await expect(read(body)).rejects.toMatchObject({ code: Code.InvalidArgument });
  });

  const never = { ...compressionGzip, decompress: () => new Promise<never>(() => {}) };
  test.each([
    ["is not there yet", never],
    ["is wrong", compressionGzip],
  ])("that %s does not hold up an error that is about none", async (_what, compression) => {
    const left = new Error("left");
    const exchange = {
      ...createMemoryExchange(),
      async readBody<T>(sink: { push(chunk: Uint8Array): void }): Promise<T> {
        sink.push(envelope("bad", 1));
        throw left;
      },
    };
    await expect(readEnvelope(exchange, { ...reading, compression })).rejects.toBe(left);
  });
});

describe("what messages hold", () => {
  const open = () => {
    const budget = new BodyBudget();
    return { budget, holding: new Holding(budget, { peerAddress: undefined, headers: {} }) };
  };

  test("is what has come or is expected of them, and what they unpack to, until the next", async () => {
    const { budget, holding } = open();
    const bytes = Buffer.concat([message, packed, message, message.subarray(0, 6)]);
    const held: number[] = [];
    const pieces = [bytes.subarray(0, 6), bytes.subarray(6)];
    const exchange = { ...createMemoryExchange(), holding, chunks };
    async function* chunks() {
      for (const piece of pieces) {
        held.push(budget.heldBytes);
        yield piece;
      }
    }
    const messages = readEnvelopes(exchange, { ...reading, errors: requestErrors("bidi") });
    for (let i = 0; i < 3; i++) {
      await messages.next();
      held.push(budget.heldBytes);
    }
    const all = bytes.length;
    expect(held).toEqual([0, message.length, all, all + "packed".length, all]);
    await expect(messages.next()).rejects.toThrow(/incomplete/);
    expect(budget.heldBytes).toBe(6);
  });

  test("is counted before it is read on", async () => {
    const budget = new BodyBudget({ bytesMax: 100 });
    const holding = new Holding(budget, { peerAddress: undefined, headers: {} });
    const older = new Holding(budget, { peerAddress: undefined, headers: {} });
    void older.add(48);
    const read = readAll([message.subarray(0, 5), message.subarray(5)], { holding });
    await new Promise((resolve) => setImmediate(resolve));
    expect([budget.waiting, budget.heldBytes]).toEqual([1, 53]);
    older.release();
    expect(await read).toEqual(["message"]);
  });

  test("is what one message unpacks to", async () => {
    const { budget, holding } = open();
    await read([packed], { holding });
    expect(budget.heldBytes).toBe("packed".length); // the rest counts with the request
  });
});

const bytes = Buffer.concat([
  envelope("a"),
  envelope("", 1),
  envelope("x".repeat(300), 0x80),
  envelope("b", 0xff),
]);

test.each([1, 2, 4, 5, 6, 7, 100, 1000])("a body in pieces of %d bytes is split", (length) => {
  const splitter = new EnvelopeSplitter(300);
  const found: unknown[] = [];
  for (let at = 0; at < bytes.length; at += length) {
    void splitter.push(bytes.subarray(at, at + length));
    for (let one = splitter.next(); one !== undefined; one = splitter.next()) {
      found.push([one.flags, Buffer.from(one.data).toString()]);
    }
  }
  expect(found).toEqual([
    [0, "a"],
    [1, ""],
    [0x80, "x".repeat(300)],
    [0xff, "b"],
  ]);
  expect(splitter.length).toBe(0);
});

test.each<[text: string, minBytes: number, isCompressed: boolean]>([
  ["abc", 3, true],
  ["abc", 4, false],
  ["", 0, true],
])("%j is compressed from %d bytes on: %s", async (text, minBytes, isCompressed) => {
  const flags = isCompressed ? 0x81 : 0x80;
  const data = isCompressed ? gzipSync(text) : text;
  const write = (response: Compression | null, flags?: number) => {
    const call = { compression: { response }, wire: { options: { compressMinBytes: minBytes } } };
    return writeEnvelope(call as Call, text, flags);
  };
  expect(Buffer.from(await write(compressionGzip, 0x80))).toEqual(envelope(data, flags));
  expect(Buffer.from(await write(null))).toEqual(envelope(text));
});
