/** Answers with more headers than are read: each fails alone, whatever its server was told. */
import { Code, type ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { HeaderFilter, omittedField } from "../../src/client/header-filter.ts";
import { collect } from "../support/collect.ts";
import { fieldBlock, flag, frame, framesIn, frameType, headersFrame } from "../support/frames.ts";
import { within } from "../support/within.ts";
import {
  type Answer,
  answerAtOnce,
  answerOk,
  answerWith,
  call,
  failureOf,
  grpcHead,
  openFakeServer,
} from "./fake-server.ts";
import { grpcFields, openRaw } from "./raw-server.ts";

const large = (kib: number) => ({ "x-large": "v".repeat(kib * 1024) });
const five = (kib: number) =>
  Object.fromEntries([1, 2, 3, 4, 5].map((i) => [`x-${i}`, "v".repeat((kib / 5) * 1024)]));
const many = (kib: number) =>
  Object.fromEntries(Array.from({ length: kib * 2 }, (_, i) => [`x-${i}`, "v".repeat(512)]));

const failed = { "grpc-status": "5", "grpc-message": "gone" };
const went = { "grpc-status": "0" };

const base64 = (kib: number) => Buffer.alloc(kib * 768).toString("base64");

/** Where the large fields are, and what the call fails with. */
const places: readonly [place: string, code: Code, answer: (kib: number) => Answer][] = [
  ["headers alone", Code.NotFound, (kib) => answerAtOnce({ ...grpcHead, ...failed, ...five(kib) })],
  ["a trailer of an error", Code.NotFound, (kib) => answerWith({ ...failed, ...large(kib) })],
  ["trailers of an error", Code.NotFound, (kib) => answerWith({ ...failed, ...five(kib) })],
  [
    "the details of an error",
    Code.NotFound,
    (kib) => answerWith({ ...failed, "grpc-status-details-bin": base64(kib) }),
  ],
  ["a trailer", Code.ResourceExhausted, (kib) => answerWith({ ...went, ...large(kib) })],
  ["many trailers", Code.ResourceExhausted, (kib) => answerWith({ ...went, ...many(kib) })],
  [
    "headers",
    Code.ResourceExhausted,
    (kib) => answerWith(went, { head: { ...grpcHead, ...five(kib) } }),
  ],
];

// Of many small fields, a table may need each.
const sizes = (place: string) => [1, 60, 80, 140, ...(place.startsWith("many") ? [] : [300])];

describe.each(places)("%s", (place, code, answer) => {
  test.each(sizes(place))("of %i KiB", async (kib) => {
    const slow: (() => void)[] = [];
    const one: Answer = (stream, headers) => {
      if (!`${headers[":path"]}`.endsWith("WatchVolumes")) answer(kib)(stream, headers);
      else slow.push(() => answerOk(stream, headers));
    };
    await using fake = await openFakeServer(one, { server: { maxSendHeaderBlockLength: 2 ** 22 } });
    const beside = collect(fake.catalog.watchVolumes({}));
    await expect.poll(() => slow.length).toBe(1);
    const fail = (error: ConnectError) => error.code;
    const outcome = await call(fake).then(() => "success", fail);
    // Between the two, the text that is compressed on its way decides.
    if (kib <= 60 && code === Code.ResourceExhausted) expect(outcome).toBe("success");
    else if (kib >= 80 || code !== Code.ResourceExhausted) expect(outcome).toBe(code);
    for (const end of slow) end();
    await within("the answer beside", beside);
    expect(fake.sessions).toHaveLength(1);
  });
});

/** A block of headers, in frames, as large as they are told to be. */
function inFrames(block: Buffer, streamId: number, bytes = 16_384): Buffer {
  const frames: Buffer[] = [];
  for (let at = 0; at < block.length; at += bytes) {
    const isLast = at + bytes >= block.length;
    frames.push(
      frame(at === 0 ? frameType.headers : frameType.continuation, {
        flags: (isLast ? flag.endHeaders : 0) | (at === 0 ? flag.endStream : 0),
        streamId,
        payload: block.subarray(at, at + bytes),
      }),
    );
  }
  return Buffer.concat(frames);
}

/** Makes a literal an entry of the table that later blocks refer to. */
function ofTable(literal: Buffer): Buffer {
  const entry = Buffer.from(literal);
  entry[0] = 0x40;
  return entry;
}

test("what is left out empties the table of those who made it an entry", async () => {
  const status = [":status", "200"] as const;
  const type = ["content-type", "application/grpc"] as const;
  const error = ["grpc-status", "5"] as const;
  let calls = 0;
  await using raw = await openRaw((_, streamId) => {
    calls++;
    const first = Buffer.concat([
      fieldBlock([status, type, error]),
      ofTable(fieldBlock([["x-large", "v".repeat(80_000)]])),
      ofTable(fieldBlock([["grpc-message", "from the table"]])),
    ]);
    // Its first entry is number 62: the one that was added last.
    const second = Buffer.concat([fieldBlock([status, type, error]), Buffer.of(0x80 | 62)]);
    return inFrames(calls === 1 ? first : second, streamId);
  });
  const failure = { code: Code.NotFound, rawMessage: "from the table" };
  for (let i = 0; i < 2; i++) {
    await expect(within("an answer", raw.catalog.getVolume({}))).rejects.toMatchObject(failure);
  }
  expect(raw.sockets.length).toBe(1);
});

test("those of a call may be as large as its server takes", async () => {
  await using fake = await openFakeServer(answerOk);
  await call(fake, { headers: large(70) });
});

test("those that are larger than it takes fail the call alone: Netty would end the connection", async () => {
  const server = { settings: { maxHeaderListSize: 8192 } };
  await using fake = await openFakeServer(answerOk, { server });
  await call(fake, { headers: large(7) });
  const options = { headers: large(9) };
  const calls = [() => call(fake, options), () => collect(fake.catalog.watchVolumes({}, options))];
  const rawMessage = "the request headers are too large: the server takes 8192 bytes";
  for (const one of calls) {
    await expect(one()).rejects.toMatchObject({ code: Code.InvalidArgument, rawMessage });
  }
});

test("headers come in any number of frames", async () => {
  await using raw = await openRaw((_, streamId) =>
    inFrames(fieldBlock([...grpcFields, ["grpc-status", "5"]]), streamId, 3),
  );
  for (let i = 0; i < 2; i++) {
    expect(await failureOf(call(raw))).toMatchObject({ code: Code.NotFound });
  }
  expect(raw.sockets.length).toBe(1);
});

test("headers in several frames may have padding and a priority", async () => {
  const block = fieldBlock([...grpcFields, ["grpc-status", "5"]]);
  const odd = Buffer.concat([Buffer.of(2, 0, 0, 0, 0, 9), block.subarray(0, 5), Buffer.of(0, 0)]);
  await using raw = await openRaw((_, streamId) =>
    Buffer.concat([
      frame(frameType.headers, { flags: flag.endStream | 8 | 32, streamId, payload: odd }),
      frame(frameType.continuation, {
        ...{ flags: flag.endHeaders, streamId, payload: block.subarray(5) },
      }),
    ]),
  );
  expect(await failureOf(call(raw))).toMatchObject({ code: Code.NotFound });
});

describe("a filter of headers", () => {
  const data = frame(frameType.data, { streamId: 1, payload: Buffer.alloc(16_000) });
  const block = fieldBlock([["a", "b".repeat(100)]]);
  const small = inFrames(block, 1, 10);
  const huge = inFrames(
    fieldBlock([
      ["a", "b"],
      ["c", "d".repeat(70_000)],
      ["e", "f"],
    ]),
    3,
  );
  const rest = [
    ["a", "b"],
    ["e", "f"],
    [omittedField, ""],
  ] as const;

  test.each([4, 9, 1000, 16_393, 1_000_000])(
    "passes on what is not too large, received in %i bytes",
    (bytes) => {
      const all = Buffer.concat([data, small, huge, data, small]);
      const filter = new HeaderFilter();
      const passed: Buffer[] = [];
      for (let at = 0; at < all.length; at += bytes) {
        passed.push(...filter.filter(all.subarray(at, at + bytes)));
      }
      const joined = inFrames(block, 1);
      const expected = Buffer.concat([data, joined, headersFrame(3, rest, true), data, joined]);
      expect(Buffer.concat(passed).equals(expected)).toBe(true);
    },
  );

  const filtered = (frames: Buffer) => Buffer.concat(new HeaderFilter().filter(frames));
  const blockOf = (frames: Buffer) => Buffer.concat(framesIn(frames).map(({ payload }) => payload));

  const tooMuch = fieldBlock([["z", "v".repeat(70_000)]]);

  test("of a large block, every form of a small field stays", () => {
    const forms = Buffer.concat([
      Buffer.of(0x3f, 0xe1, 0x1f), // the size of the table
      Buffer.of(0x20), // the same, in one byte
      Buffer.of(0x82), // an entry of the table
      Buffer.of(0xff, 0x80, 0x01), // one far behind
      Buffer.of(0x44, 1, 0x2f), // a name of the table, for the table
      Buffer.of(0x7f, 0x01, 1, 0x2f),
      Buffer.of(0x04, 1, 0x2f), // a name of the table
      Buffer.of(0x0f, 0x2f, 1, 0x2f),
      Buffer.of(0x1f, 0x2f, 1, 0x2f), // never for the table
      Buffer.of(0x40, 1, 0x61, 1, 0x62),
      Buffer.of(0x00, 1, 0x61, 0),
    ]);
    for (const block of [Buffer.concat([forms, tooMuch]), Buffer.concat([tooMuch, forms])]) {
      const passed = blockOf(filtered(inFrames(block, 1)));
      expect(passed.equals(Buffer.concat([forms, fieldBlock([[omittedField, ""]])]))).toBe(true);
    }
  });

  test("leaves to Node what is no HTTP/2", () => {
    const begin = huge.subarray(0, 9 + 16_384);
    for (const wrong of [
      Buffer.concat([begin, data]),
      Buffer.concat([begin, small]),
      Buffer.concat([begin, ...Array(200_000).fill(frame(frameType.continuation))]),
      inFrames(Buffer.alloc(70_000, 0x0f), 1),
      inFrames(Buffer.alloc(5_000_000), 1),
      Buffer.alloc(100_000, 0xff),
      frame(frameType.headers, { streamId: 1, payload: Buffer.alloc(16_385) }).subarray(0, 1000),
    ]) {
      expect(filtered(wrong).equals(wrong)).toBe(true);
    }
  });
});
