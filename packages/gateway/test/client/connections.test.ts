/** How the client keeps its connections, and what it does when it loses them. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readFileSync } from "node:fs";
import {
  constants,
  createSecureServer,
  type Http2Stream,
  type SecureServerOptions,
  type ServerHttp2Stream,
} from "node:http2";
import { setTimeout } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import { Code } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { CallDeadline } from "../../src/client/call-deadline.ts";
import { Channel } from "../../src/client/channel.ts";
import type { GrpcTransportOptions } from "../../src/client/index.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { createCertificate, hasOpenssl } from "../support/certificate.ts";
import { collect } from "../support/collect.ts";
import { errorCode, frame, frameType, goawayFrame } from "../support/frames.ts";
import { listen } from "../support/free-port.ts";
import { createTemporaryFolder } from "../support/temporary-folder.ts";
import { patienceMs, within } from "../support/within.ts";
import {
  type Answer,
  answerOk,
  type Caller,
  call,
  type FakeServer,
  failureOf,
  grpcHead,
  openCaller,
  openFakeServer,
} from "./fake-server.ts";
import { openFront } from "./front.ts";
import { notFound, onFrame, openRaw, openTcp, serverGreeting } from "./raw-server.ts";

const unavailable = { code: Code.Unavailable };

/** Calls until one goes well. */
const untilAnswered = (caller: Caller) =>
  vi.waitFor(() => call(caller), { timeout: patienceMs, interval: 5 });

test("many large requests share a connection", async () => {
  await using fake = await openFakeServer((stream, headers) => {
    stream.once("end", () => answerOk(stream, headers));
    stream.resume();
  });
  const volume = { title: "x".repeat(1_000_000) };
  const calls = Array.from({ length: 20 }, () => fake.catalog.createVolume({ volume }));
  await within("all answers", Promise.all(calls));
  expect(fake.sessions).toHaveLength(1);
});

test("a server that takes few streams on a connection gets more, up to 16 of them", async () => {
  const waiting: (() => void)[] = [];
  await using fake = await openFakeServer((stream, headers) => {
    waiting.push(() => answerOk(stream, headers));
  }, busy);
  const calls = Array.from({ length: 40 }, () => call(fake));
  let answered = 0;
  void Promise.all(calls.map((one) => one.then(() => answered++)));
  await expect.poll(() => waiting.length).toBe(16);
  while (answered < calls.length) {
    for (const answer of waiting.splice(0)) answer();
    await setTimeout(1);
  }
  expect(fake.sessions).toHaveLength(16);
});

describe("a server that takes no more streams for a while", () => {
  const none = { maxConcurrentStreams: 0 };

  test("finishes the call that it has", async () => {
    const answer: Answer = (stream, headers) => {
      stream.session?.settings(none);
      void setTimeout(300).then(() => answerOk(stream, headers));
    };
    await using fake = await openFakeServer(answer, { quietMsMax: 50 });
    await call(fake);
    expect(fake.sessions).toHaveLength(1);
  });

  test("gets those that wait when it takes some", async () => {
    await using fake = await openFakeServer(answerOk, { server: { settings: none } });
    const waiting = call(fake);
    // It tries as many connections as it may have.
    await expect.poll(() => fake.sessions.length).toBe(16);
    fake.sessions[3]?.settings({ maxConcurrentStreams: 10 });
    await waiting;
  });
});

/** Of each that a client opens from now on. */
function onStream(told: (stream: Http2Stream) => void): void {
  const listener = (message: unknown) => told((message as { stream: Http2Stream }).stream);
  subscribe("http2.client.stream.created", listener);
  onTestFinished(() => void unsubscribe("http2.client.stream.created", listener));
}

test("a call that is cancelled as its turn comes leaves its place to the next", async () => {
  const held: (() => void)[] = [];
  await using fake = await openFakeServer((stream, headers) => {
    held.push(() => answerOk(stream, headers));
  }, busy);
  const streams: Http2Stream[] = [];
  onStream((stream) => streams.push(stream));
  const full = Array.from({ length: 16 }, () => call(fake));
  await expect.poll(() => held.length).toBe(16);
  const controller = new AbortController();
  const { getVolume } = CatalogService.method;
  const cancelled = fake.transport.unary(getVolume, controller.signal, undefined, undefined, {});
  const next = call(fake);
  // The place is given before the last listener is called.
  for (const stream of streams) stream.on("close", () => controller.abort());
  held.shift()?.();
  await expect(cancelled).rejects.toMatchObject({ code: Code.Canceled });
  await expect.poll(() => held.length).toBe(16);
  for (const answer of held) answer();
  await Promise.all([...full, next]);
});

test("a call goes out on the connection with the fewest", async () => {
  const settings = { maxConcurrentStreams: 2 };
  await using fake = await openFakeServer(() => {}, { server: { settings } });
  const channel = new Channel({ origin: fake.url, tls: () => ({}), quietMsMax: 5000 });
  const taken = await Promise.all(Array.from({ length: 4 }, () => acquire(channel)));
  const connections = [...new Set(taken)];
  for (const one of connections) one.vacate();
  for (const fewest of connections) {
    fewest.vacate();
    expect(await acquire(channel)).toBe(fewest);
  }
  channel.close();
});

test("a connection whose numbers of streams are used up is replaced", async () => {
  await using fake = await openFakeServer(answerOk);
  const sessions: unknown[] = [];
  onStream(({ session }) => sessions.push(session));
  await call(fake);
  (sessions[0] as { setNextStreamID(id: number): void }).setNextStreamID(2 ** 31 - 1);
  await call(fake);
  await importing("Emma")(fake);
  expect(fake.sessions).toHaveLength(2);
});

test("listeners are told of each connection that takes no more calls, until they are removed", async () => {
  await using fake = await openFakeServer(answerOk);
  let told = 0;
  const remove = fake.transport.onDisconnect(() => told++);
  await call(fake);
  expect(told).toBe(0);
  fake.sessions[0]?.goaway();
  await expect.poll(() => told).toBe(1);
  await call(fake);
  remove();
  fake.sessions[1]?.destroy();
  await expect.poll(() => fake.sessions.length).toBe(3);
  expect(told).toBe(1);
});

test("a call that gives up while it waits leaves its place in the line", async () => {
  await using fake = await openFakeServer(() => {}, busy);
  const channel = new Channel({ origin: fake.url, tls: () => ({}), quietMsMax: 5000 });
  const connectionsMax = 16;
  const taken = await Promise.all(Array.from({ length: connectionsMax }, () => acquire(channel)));
  const controller = new AbortController();
  const given = acquire(channel, controller.signal);
  const patient = acquire(channel);
  controller.abort();
  await expect(given).rejects.toMatchObject({ code: Code.Canceled });
  taken[0]?.vacate();
  expect(await within("the place", patient)).toBe(taken[0]);
  channel.close();
});

const acquire = async (channel: Channel, cancellation?: AbortSignal) =>
  channel.acquire(new CallDeadline(undefined, cancellation));

test("a server that takes no second connection is not asked for one over and over", async () => {
  let attempts = 0;
  const stuck: (() => void)[] = [];
  await using fake = await openFakeServer((stream, headers) => {
    stuck.push(() => answerOk(stream, headers));
  }, busy);
  await using front = await openFront(fake.port, { isLetIn: () => ++attempts === 1 });
  const first = call(front);
  const second = call(front);
  await setTimeout(500);
  for (const answer of stuck.splice(0)) answer();
  await first;
  while (stuck.length === 0) await setTimeout(5);
  stuck[0]?.();
  await second;
  expect(attempts).toBeGreaterThan(1);
  expect(attempts).toBeLessThan(12);
});

test("a server that hangs up at once is not called over and over", async () => {
  await using server = await openTcp((socket) => socket.end(serverGreeting));
  await failureOf(call(server));
  await setTimeout(500);
  expect(server.sockets.length).toBeGreaterThan(1);
  expect(server.sockets.length).toBeLessThan(12);
});

test("a server is told that it may push nothing, and how large headers may be", async () => {
  await using fake = await openFakeServer(answerOk);
  await call(fake);
  const [session] = fake.sessions;
  expect(session?.remoteSettings).toMatchObject({ enablePush: false, maxHeaderListSize: 131_070 });
});

const importing =
  (title: string) =>
  ({ catalog }: Caller) =>
    catalog.importVolumes(createAsyncIterable([{}, { volume: { title } }]));

/** Takes one call on a connection. */
const busy = { server: { settings: { maxConcurrentStreams: 1 } } };

describe("a call that the server has not looked at", () => {
  test.each<[kind: string, made: (fake: FakeServer) => Promise<unknown>]>([
    ["unary", call],
    ["a stream back", ({ catalog }) => collect(catalog.watchVolumes({ parent: "shelves/a" }))],
    ["a stream there", importing("Emma")],
  ])("goes out again, whole, if it was refused: %s", async (_kind, made) => {
    const sent: Buffer[] = [];
    await using fake = await openFakeServer(async (stream, headers) => {
      if (sent.push(Buffer.concat(await stream.toArray())) > 1) answerOk(stream, headers);
      else stream.close(constants.NGHTTP2_REFUSED_STREAM);
    });
    await made(fake);
    expect(sent).toEqual([sent[0], sent[0]]);
  });

  test.each<[what: string, made: (fake: FakeServer) => Promise<unknown>, calls: number]>([
    ["for ever", call, 3],
    ["without messages that are gone", importing("x".repeat(20_000)), 1],
  ])("but not %s", async (_what, made, count) => {
    let calls = 0;
    await using fake = await openFakeServer((stream) => {
      calls++;
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
    });
    expect(await failureOf(made(fake))).toMatchObject(unavailable);
    expect(calls).toBe(count);
  });

  test.each([
    ["as it leaves", errorCode.noError],
    ["as something is wrong", errorCode.protocol],
  ])("goes out again on a new connection if the server says so %s", async (_, code) => {
    for (const made of [call, importing("Emma")]) {
      await using raw = await openRaw((connection) =>
        connection === 1 ? goawayFrame(0, code) : notFound(),
      );
      expect(await failureOf(made(raw))).toMatchObject({ code: Code.NotFound });
      expect(raw.sockets.length).toBe(2);
    }
  });
});

describe("a call that may have been done does not go out again", () => {
  test.each<[what: string, Answer]>([
    ["reset", (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR)],
    ["cut off", (stream) => stream.session?.destroy()],
    ["at its end", (stream) => stream.session?.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)],
    ["at an end like a refusal", ({ session }) => session?.goaway(errorCode.refusedStream)],
    [
      "refused, but behind headers",
      (stream) => {
        stream.respond(grpcHead);
        stream.session?.ping(() => stream.close(errorCode.refusedStream));
      },
    ],
  ])("%s", async (_, answer) => {
    for (const made of [call, importing("Emma")]) {
      const end = vi.fn(answer);
      await using fake = await openFakeServer(end);
      await failureOf(made(fake));
      expect(end).toHaveBeenCalledOnce();
    }
  });
});

test("a server that greets and leaves at once has no call of those that waited for it", async () => {
  await using server = await openTcp((socket, connection) => {
    socket.write(
      Buffer.concat(connection > 1 ? [serverGreeting] : [serverGreeting, goawayFrame()]),
    );
    onFrame(socket, ({ type, streamId }) => {
      if (type === frameType.headers) socket.write(notFound(streamId));
    });
  });
  const called = server.catalog.importVolumes(createAsyncIterable([{}]));
  expect(await failureOf(called)).toMatchObject({ code: Code.NotFound });
});

test("a server that leaves and changes its settings gets no more calls", async () => {
  await using raw = await openRaw((connection) => {
    if (connection > 1) return notFound();
    return Buffer.concat([goawayFrame(2 ** 31 - 1), frame(frameType.settings), notFound()]);
  });
  await failureOf(call(raw));
  expect(await failureOf(call(raw))).toMatchObject({ code: Code.NotFound });
  expect(raw.sockets.length).toBe(2);
});

test("a server that wants no more calls ends those it has, and gets the next on a new connection", async () => {
  await using fake = await openFakeServer((stream, headers) => {
    if (fake.sessions.length > 1) return answerOk(stream, headers);
    stream.session?.goaway(constants.NGHTTP2_NO_ERROR, 2 ** 31 - 1);
    // The client knows by then: it has answered what was sent behind it.
    stream.session?.ping(() => answerOk(stream, headers));
  });
  await call(fake);
  await call(fake);
  expect(fake.sessions).toHaveLength(2);
});

test.each([
  ["frees the place of the call", false, constants.NGHTTP2_CANCEL],
  ["resets no server that reads on", true, constants.NGHTTP2_NO_ERROR],
])("an answer that comes before its request was taken %s", async (_, isReadOn, code) => {
  const answered = Promise.withResolvers<void>();
  await using fake = await openFakeServer((stream) => {
    stream.pause(); // opens no window behind the first 64 KiB
    stream.respond({ ...grpcHead, "grpc-status": "5" }, { endStream: true });
    if (isReadOn) void answered.promise.then(() => stream.resume());
  });
  const volume = { title: "a".repeat(1024 * 1024) };
  const failure = await failureOf(fake.catalog.createVolume({ volume }));
  expect(failure).toMatchObject({ code: Code.NotFound });
  answered.resolve();
  expect(await fake.untilClosed()).toBe(code);
});

test("a server that comes back is called again, and until then calls fail at once", async () => {
  const first = await openFakeServer(answerOk);
  using client = openCaller({ url: first.url });
  await call(client);
  await first[Symbol.asyncDispose]();
  await failureOf(call(client));
  const begin = performance.now();
  for (let calls = 0; calls < 100; calls++) {
    const error = await failureOf(call(client));
    expect(error).toMatchObject({ ...unavailable, rawMessage: expect.stringContaining("REFUSED") });
  }
  // None has waited for an attempt that could take seconds.
  expect(performance.now() - begin).toBeLessThan(5000);
  await using _again = await openFakeServer(answerOk, { port: first.port });
  await within("an answer", untilAnswered(client));
});

test("the end of a transport ends its calls, and lets none begin", async () => {
  await using fake = await openFakeServer(() => fake.transport.close());
  expect(await failureOf(call(fake))).toMatchObject(unavailable);
  expect(await failureOf(call(fake))).toMatchObject(unavailable);
  expect(fake.sessions).toHaveLength(1);
});

test("the end of a transport ends calls that wait for room on its connections", async () => {
  let calls = 0;
  const full = () => {
    if (++calls === 16) fake.transport.close();
  };
  await using fake = await openFakeServer(full, busy);
  const failures = Array.from({ length: 17 }, () => failureOf(call(fake)));
  expect(await within("the failures", Promise.all(failures))).toHaveLength(17);
});

test("a name that is none is told as that", async () => {
  using client = openCaller({ url: "http://nowhere.invalid:50051" });
  expect(await failureOf(call(client))).toMatchObject({
    ...unavailable,
    rawMessage: expect.stringContaining("nowhere.invalid"),
  });
});

describe.skipIf(!hasOpenssl)("over TLS", () => {
  type Tls = ReturnType<NonNullable<GrpcTransportOptions["tls"]>>;

  /** A server that asks its callers for a certificate, and a client as the test says. */
  async function openTls(
    choose: (right: Required<Pick<Tls, "ca" | "cert" | "key">>) => GrpcTransportOptions["tls"],
    options: SecureServerOptions = {},
  ) {
    const folder = await createTemporaryFolder();
    const root = createCertificate(folder.path, "root");
    const ca = createCertificate(folder.path, "ca", { ca: root, isCa: true });
    const own = createCertificate(folder.path, "server", { ca });
    const client = createCertificate(folder.path, "client");
    const server = createSecureServer({
      ...{ key: readFileSync(own.keyFile), cert: own.pem },
      ...{ ca: client.pem, requestCert: true, ...options },
    });
    const callers: (string | undefined)[] = [];
    server.on("stream", (stream: ServerHttp2Stream, headers) => {
      const socket = stream.session?.socket as TLSSocket | undefined;
      callers.push(socket?.getPeerCertificate().subject.CN?.toString());
      answerOk(stream, headers);
    });
    const listener = await listen(server);
    const tls = choose({ ca: ca.pem, cert: client.pem, key: readFileSync(client.keyFile) });
    const url = `https://localhost:${listener.port}`;
    const { transport, catalog } = openCaller({ url, ...(tls && { tls }) });
    return {
      ...{ callers, catalog },
      async [Symbol.asyncDispose]() {
        transport.close();
        await listener[Symbol.asyncDispose]();
        await folder[Symbol.asyncDispose]();
      },
    };
  }

  test("both sides show who they are", async () => {
    await using tls = await openTls((right) => () => right);
    await call(tls);
    expect(tls.callers).toEqual(["client"]);
  });

  test("a server whom nobody trusts is not called", async () => {
    await using tls = await openTls(() => undefined);
    const message = "unable to get local issuer certificate; it, or its CA, must be trusted";
    const failure = { ...unavailable, rawMessage: message, cause: { message } };
    expect(await failureOf(call(tls))).toMatchObject(failure);
    await using plain = await openFakeServer(answerOk);
    using client = openCaller({ url: plain.url.replace("http:", "https:") });
    const error = await failureOf(call(client));
    expect(error.cause).toMatchObject({ code: "EPROTO", message: error.rawMessage });
    expect(tls.callers).toEqual([]);
  });

  test.each([
    ["TLSv1.2", /handshake failure|bad certificate|certificate required/i],
    ["TLSv1.3", /certificate required/i],
  ] as const)(
    "who shows no certificate where one is required is told so at once: %s",
    async (maxVersion, reason) => {
      await using tls = await openTls(
        ({ ca }) =>
          () => ({ ca }),
        { maxVersion },
      );
      for (let calls = 0; calls < 20; calls++) {
        const error = await failureOf(call(tls));
        expect(error).toMatchObject({ ...unavailable, rawMessage: expect.stringMatching(reason) });
      }
    },
  );

  test("certificates that cannot be used are told, and used when they can be", async () => {
    let isRenewed = false;
    await using tls = await openTls(
      (right) => () => (isRenewed ? right : { ...right, cert: "no certificate" }),
    );
    expect(await failureOf(call(tls))).toMatchObject(unavailable);
    isRenewed = true;
    await untilAnswered(tls);
    expect(tls.callers).toEqual(["client"]);
  });
});

test("a call that waits for another connection has the one that replaces a leaving one", async () => {
  await using fake = await openFakeServer(() => {}, busy);
  let refused = 0;
  let isRefusing = false;
  const isLetIn = () => {
    if (isRefusing) refused++;
    return !isRefusing;
  };
  await using front = await openFront(fake.port, { isLetIn });
  const channel = new Channel({ origin: front.url, tls: () => ({}), quietMsMax: 60_000 });
  for (let calls = 0; calls < 2; calls++) await acquire(channel);
  await setTimeout(1100); // only a connection that has lived is replaced at once
  isRefusing = true;
  const waiting = acquire(channel);
  while (refused < 5) await setTimeout(2);
  isRefusing = false;
  fake.sessions[1]?.goaway();
  await within("a connection", waiting);
  channel.close();
});
