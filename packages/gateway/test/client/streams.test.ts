/** Streaming calls of the client. */
import { randomBytes } from "node:crypto";
import { getEventListeners } from "node:events";
import { constants } from "node:http2";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type ServiceImpl } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { expect, test } from "vitest";
import { openGrpcTransport } from "../../src/client/index.ts";
import { CatalogService, VolumeSchema } from "../gen/library/v1/catalog_pb.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { collect } from "../support/collect.ts";
import { openFields } from "../support/echo.ts";
import { envelope } from "../support/envelope.ts";
import { flag, frame, frameType, goawayFrame, resetFrame, settingsAck } from "../support/frames.ts";
import { within } from "../support/within.ts";
import {
  type Answer,
  answerAtOnce,
  answerOk,
  answerWith,
  type FakeServer,
  failureOf,
  grpcHead,
  openFakeServer,
} from "./fake-server.ts";
import { openFront } from "./front.ts";
import { answerFrames, onFrame, openRaw, openTcp, serverGreeting } from "./raw-server.ts";

type Fields = Partial<ServiceImpl<typeof FieldService>>;

/** A gateway that serves fields, and the client that calls it. */
async function openCaller(service?: Fields) {
  const gateway = await openFields(service);
  const transport = openGrpcTransport({ url: gateway.origin("2") });
  return {
    client: createClient(FieldService, transport),
    async [Symbol.asyncDispose]() {
      transport.close();
      await gateway[Symbol.asyncDispose]();
    },
  };
}

function watch({ transport }: FakeServer, signal?: AbortSignal, timeoutMs?: number) {
  const { watchVolumes } = CatalogService.method;
  return transport.stream(watchVolumes, signal, timeoutMs, {}, createAsyncIterable([{}]));
}

const texts = ["one", "two", "three"];

async function* messages(all: Iterable<string> = texts) {
  for (const string of all) yield { string };
}

const textsOf = async (answers: AsyncIterable<{ string: string }>) =>
  (await collect(answers)).map(({ string }) => string);

test("a stream each way, one of requests, one of answers", async () => {
  await using fields = await openCaller();
  const { client } = fields;
  expect(await client.collect(messages())).toMatchObject({ string: "three" });
  expect(await textsOf(client.repeat({ string: "one" }))).toEqual(["one", "one"]);
  expect(await textsOf(client.exchange(messages()))).toEqual(texts);
});

const title = "a".repeat(15_000);
const message = envelope(Buffer.from(toBinary(VolumeSchema, create(VolumeSchema, { title }))));

test.each<[what: string, end: (socket: Socket) => void]>([
  ["closes", (socket) => socket.end()],
  ["resets", (socket) => setTimeout(() => socket.resetAndDestroy(), 300)],
  ["is told to calm down by, and ends", (socket) => socket.write(goawayFrame(3, 11))],
])("what has arrived is read, though its server %s the connection", async (_what, end) => {
  for (const code of [undefined, Code.Unavailable, Code.Internal]) {
    await using server = await openTcp((socket) => {
      socket.write(serverGreeting);
      onFrame(socket, ({ type, streamId }) => {
        if (type !== frameType.headers || streamId === 1) return;
        const [...frames] = answerFrames(streamId, Array(3).fill(message));
        if (code !== undefined) frames.pop();
        if (code === Code.Internal) frames.push(resetFrame(streamId, 1));
        socket.write(Buffer.concat(frames));
        end(socket);
      });
    });
    const seen: string[] = [];
    const read = async () => {
      for await (const volume of server.catalog.watchVolumes({})) {
        seen.push(volume.title);
        await delay(200);
      }
    };
    const calls = [server.catalog.getVolume({}), read()];
    const ends = await Promise.all(calls.map((call) => call.catch(({ code }) => code)));
    expect(ends).toEqual([Code.Unavailable, code]);
    expect(seen).toEqual([title, title, title]);
  }
});

test("a whole answer that is cut off by the end of its transport is an error", async () => {
  const body = Buffer.concat(Array(8).fill(message));
  await using fake = await openFakeServer(answerWith({ "grpc-status": "0" }, { body }));
  const reading = async () => {
    for await (const _ of fake.catalog.watchVolumes({})) {
      await delay(100);
      fake.transport.close();
    }
  };
  expect(await failureOf(reading())).toMatchObject({ code: Code.Unavailable });
});

test("a caller that leaves a whole answer unread leaves its place, too", async () => {
  const answer: Answer = (stream) => {
    stream.respond(grpcHead, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.concat([envelope(""), envelope(Buffer.alloc(100_000))]));
  };
  await using fake = await openFakeServer(answer, {
    server: { settings: { maxConcurrentStreams: 1 } },
  });
  for (let i = 0; i < 8; i++) {
    // Clients of early versions of Connect do not tell the transport that they leave.
    for await (const _ of (await watch(fake)).message) {
      await delay(100);
      break;
    }
  }
  // The next call may come before the place is free, but not eight times.
  expect(fake.sessions.length).toBeLessThan(5);
});

test("a server that reads nothing more, and ends its side, ends the call", async () => {
  const settings = Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff]);
  const serve = (socket: Socket) => {
    const window = frame(frameType.windowUpdate, { payload: Buffer.from([0x7f, 0xff, 0, 0]) });
    const greeting = frame(frameType.settings, { payload: settings });
    socket.write(Buffer.concat([greeting, settingsAck, window]));
    socket.once("data", () => {
      socket.pause();
      setTimeout(() => socket.end(), 100);
    });
  };
  await using server = await openTcp(serve, { quietMsMax: 200 });
  const called = failureOf(server.catalog.getVolume({ name: "a".repeat(30_000_000) }));
  expect(await within("the end", called)).toMatchObject({ code: Code.Unavailable });
});

const behind = { "grpc-status": "0", "x-behind": "1" };

test.each([
  ["after a message", answerWith(behind)],
  ["alone", answerAtOnce({ ...grpcHead, ...behind })],
])("trailers %s are those of a stream, told at its end", async (_, answer) => {
  await using fake = await openFakeServer(answer);
  const told: unknown[] = [];
  const tell = (fields: Headers) => told.push(fields.get("x-behind"));
  for await (const _ of fake.catalog.watchVolumes({}, { onHeader: tell, onTrailer: tell }));
  expect(told).toEqual([null, "1"]);
});

test("an error behind messages comes behind them, with its headers and trailers", async () => {
  await using fields = await openCaller({
    async *repeat(message, { responseHeader, responseTrailer }) {
      responseHeader.set("x-before", "1");
      responseTrailer.set("x-behind", "2");
      yield message;
      throw new ConnectError("no more", Code.OutOfRange);
    },
  });
  const told: unknown[] = [];
  const onHeader = (header: Headers) => told.push(header.get("x-before"));
  const answers = fields.client.repeat({ string: "one" }, { onHeader });
  const reading = async () => {
    for await (const { string } of answers) told.push(string);
  };
  const error = await failureOf(reading());
  expect(error).toMatchObject({ code: Code.OutOfRange, rawMessage: "no more" });
  expect([error.metadata.get("x-before"), error.metadata.get("x-behind")]).toEqual(["1", "2"]);
  expect(told).toEqual(["1", "one"]);
});

test.each<[what: string, Answer, Code]>([
  ["an error page", answerAtOnce({ ":status": 502 }), Code.Unavailable],
  ["an endless error page", (stream) => stream.respond({ ":status": 502 }), Code.Unavailable],
  ["a status", answerAtOnce({ ...grpcHead, "grpc-status": "5" }), Code.NotFound],
])("a stream that is answered by %s alone has no headers", async (_, answer, code) => {
  await using fake = await openFakeServer(answer);
  await expect(within("an answer", watch(fake))).rejects.toMatchObject({ code });
});

test.each(["by its signal", "by its deadline", "as it takes no more"])(
  "who leaves a stream ends it at the server: %s",
  async (how) => {
    const leaving = new AbortController();
    await using fake = await openFakeServer((stream) => {
      stream.respond(grpcHead);
      stream.write(Buffer.alloc(5));
    });
    const timeoutMs = how === "by its deadline" ? 200 : undefined;
    const failure = (async () => {
      for await (const _ of (await watch(fake, leaving.signal, timeoutMs)).message) {
        if (how === "as it takes no more") break;
        if (how === "by its signal") leaving.abort();
      }
    })().catch((reason: unknown) => reason);
    expect(await fake.untilClosed()).toBe(constants.NGHTTP2_CANCEL);
    const code = { "by its signal": Code.Canceled, "by its deadline": Code.DeadlineExceeded }[how];
    if (code !== undefined) expect(await failure).toMatchObject({ code });
  },
);

test("an error of the requests ends the call, here and at the server", async () => {
  const called = Promise.withResolvers<void>();
  await using fake = await openFakeServer((stream) => {
    called.resolve();
    stream.resume();
  });
  async function* broken() {
    yield { parent: "shelves/a" };
    await called.promise;
    throw new ConnectError("no more", Code.DataLoss);
  }
  await expect(fake.catalog.importVolumes(broken())).rejects.toMatchObject({ code: Code.DataLoss });
  expect(await fake.untilClosed()).toBe(constants.NGHTTP2_CANCEL);
});

/** Of a message that is large beside what a stream may send unread, compressed as well. */
const large = randomBytes(48 * 1024).toString("base64");

test.each(["by an error of its own", "by its signal", "by its deadline"])(
  "requests that are cut %s do not look whole to the server",
  async (how) => {
    await using raw = await openRaw(() => Buffer.alloc(0));
    const leaving = new AbortController();
    const requests = async function* () {
      yield { parent: "shelves/a" };
      await delay(20);
      if (how === "by an error of its own") throw new Error("cut");
      if (how === "by its signal") leaving.abort();
      await new Promise(() => {});
    };
    const timeoutMs = how === "by its deadline" ? 500 : 60_000;
    const call = raw.catalog.importVolumes(requests(), { timeoutMs, signal: leaving.signal });
    await expect(call).rejects.toThrow();
    await expect.poll(() => raw.frames.map(({ type }) => type)).toContain(frameType.rstStream);
    const bodies = raw.frames.filter(({ type }) => type === frameType.data);
    expect(bodies.map(({ flags }) => flags & flag.endStream)).toEqual([0]);
  },
);

test("a call ends by its deadline though its server reads nothing", async () => {
  const roomy = { settings: { initialWindowSize: 2 ** 30 } };
  const answer: Answer = (stream, headers) => {
    stream.session?.setLocalWindowSize(2 ** 30);
    answerOk(stream, headers);
  };
  await using fake = await openFakeServer(answer, { server: roomy });
  await using front = await openFront(fake.port);
  const { catalog } = front;
  await catalog.getVolume({});
  await catalog.getVolume({});
  front.silence();
  // More than the system's buffers hold, so that not even a reset can be sent.
  const volume = { title: "x".repeat(2_000_000) };
  const calls = Array.from({ length: 20 }, () =>
    catalog.createVolume({ volume }, { timeoutMs: 1000 }).catch((error: unknown) => error),
  );
  for (const end of await within("their ends", Promise.all(calls))) {
    expect(end).toMatchObject({ code: Code.DeadlineExceeded });
  }
});

test.each([
  ["large", large, 65_535, 8],
  ["tiny", "", 0, 300],
])("a server that takes nothing is sent few %s messages", async (_, parent, window, most) => {
  let taken = 0;
  const server = { settings: { initialWindowSize: window } };
  // Without a reader, what comes waits in Node and at the client.
  const answer: Answer = (stream) => setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), 200);
  await using fake = await openFakeServer(answer, { server });
  async function* endless() {
    for (; ; taken++) yield { parent };
  }
  await expect(fake.catalog.importVolumes(endless())).rejects.toThrow();
  expect(taken).toBeLessThan(most);
});

test("a client that takes nothing is sent a window, and its connection serves others", async () => {
  let sent = 0;
  const fields = await openCaller({
    async *repeat() {
      for (; sent < 10_000; sent++) yield { string: large };
    },
    echo: (message) => message,
  });
  const slow = fields.client.repeat({})[Symbol.asyncIterator]();
  await slow.next();
  for (let calls = 0; calls < 100; calls++) await fields.client.echo({ string: "one" });
  await fields[Symbol.asyncDispose](); // ends the connection, and all that is there at once is left
  expect(sent).toBeLessThan(300); // 16 MiB, and what is in Node and in sockets
  await slow.return?.();
});

test("a server that answers amid the requests has its answer taken, and is sent no more", async () => {
  let isLeft = false;
  await using fields = await openCaller({ collect: async () => ({ string: "enough" }) });
  async function* endless() {
    try {
      for (;;) yield { string: large };
    } finally {
      isLeft = true;
    }
  }
  expect((await within("an answer", fields.client.collect(endless()))).string).toBe("enough");
  await expect.poll(() => isLeft).toBe(true);
});

test.each([
  constants.NGHTTP2_NO_ERROR,
  constants.NGHTTP2_CANCEL, // Armeria
])("one that resets them (%i) after its compressed answer has it read", async (code) => {
  const body = envelope(gzipSync(toBinary(VolumeSchema, create(VolumeSchema))), 1);
  const gzip = [["grpc-encoding", "gzip"]] as const;
  await using server = await openRaw((_, id) =>
    Buffer.concat([...answerFrames(id, [body], gzip), resetFrame(id, code)]),
  );
  async function* requests() {
    for (;;) yield delay(1, { name: "n" });
  }
  await within("an answer", server.catalog.appendVolume(requests()));
});

test.each<[what: string, Answer]>([
  ["goes well", answerOk],
  ["fails", answerAtOnce({ ...grpcHead, "grpc-status": "5" })],
  ["is reset", (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR)],
])("a call that %s lets go of its caller's signal", async (_, answer) => {
  await using fake = await openFakeServer(answer);
  const { getVolume } = CatalogService.method;
  const { signal } = new AbortController();
  const unary = fake.transport.unary(getVolume, signal, undefined, undefined, {});
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  await unary.catch(() => {});
  const stream = watch(fake, signal);
  await stream.then(({ message }) => collect(message)).catch(() => {});
  expect(getEventListeners(signal, "abort")).toEqual([]);
});
