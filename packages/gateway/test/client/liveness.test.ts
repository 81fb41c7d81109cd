/** When a server that says nothing counts as dead, and when not. */
import { once } from "node:events";
import { constants, type ServerHttp2Stream } from "node:http2";
import { setTimeout } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { Subchannel } from "../../src/client/subchannel.ts";
import { collect } from "../support/collect.ts";
import { within } from "../support/within.ts";
import { answerOk, type Caller, call, failureOf, grpcHead, openFakeServer } from "./fake-server.ts";
import { openFront } from "./front.ts";
import { openRaw, openTcp } from "./raw-server.ts";

const dead = { code: Code.Unavailable, rawMessage: "the server does not answer" };
const quietMsMax = 100;

const read = ({ catalog }: Caller) => collect(catalog.watchVolumes({ parent: "shelves/a" }));

/** A server behind a front, which answers or begins to as a test says; and when it was first called. */
async function openDying(answer: (stream: ServerHttp2Stream) => void = () => {}) {
  const called = Promise.withResolvers<void>();
  const fake = await openFakeServer((stream) => {
    answer(stream);
    // Also the frames that the answer has sent are read by then.
    stream.session?.ping(() => called.resolve());
  });
  const front = await openFront(fake.port, { quietMsMax });
  return {
    ...front,
    called: called.promise,
    async [Symbol.asyncDispose]() {
      await front[Symbol.asyncDispose]();
      await fake[Symbol.asyncDispose]();
    },
  };
}

const goaway = (stream: ServerHttp2Stream, lastStreamId?: number) =>
  stream.session?.goaway(constants.NGHTTP2_NO_ERROR, lastStreamId);

describe("a server that falls silent loses its connection", () => {
  test.each(["http", "https"])("before it has spoken, over %s", async (scheme) => {
    await using server = await openTcp((socket) => socket.resume(), { scheme, quietMsMax });
    expect(await failureOf(call(server))).toMatchObject(dead);
  });

  test("and takes neither a call nor a question", async () => {
    await using raw = await openRaw(() => Buffer.alloc(0), { quietMsMax });
    expect(await failureOf(call(raw))).toMatchObject(dead);
  });

  test("while other calls are sent", async () => {
    await using dying = await openDying();
    const first = failureOf(call(dying));
    await dying.called;
    dying.silence();
    let isOver = false;
    void first.finally(() => (isOver = true));
    while (!isOver) {
      call(dying, { timeoutMs: 1000 }).catch(() => {});
      await setTimeout(quietMsMax / 4);
    }
    expect(await first).toMatchObject(dead);
  });

  test("though each call gives up before anyone looks", async () => {
    await using dying = await openDying((stream) => answerOk(stream, {}));
    await call(dying);
    dying.silence();
    let isGivenUp = false;
    dying.transport.onDisconnect(() => (isGivenUp = true));
    const untilGivenUp = async () => {
      while (!isGivenUp) {
        await call(dying, { timeoutMs: quietMsMax / 10 }).catch(() => {});
        await setTimeout(quietMsMax * 1.3);
      }
    };
    await within("the end of the connection", untilGivenUp());
  });

  const answers: Record<string, (stream: ServerHttp2Stream) => void> = {
    "after GOAWAY": (stream) => goaway(stream),
    "after GOAWAY twice": (stream) => {
      goaway(stream, 2 ** 31 - 1);
      goaway(stream, stream.id);
    },
    "after headers and GOAWAY": (stream) => {
      stream.respond(grpcHead);
      goaway(stream);
    },
    "after headers": (stream) => stream.respond(grpcHead),
    "after headers and a long quiet": (stream) => stream.respond(grpcHead),
  };
  test.each(
    Object.keys(answers).flatMap((when) => [[when, "unary"] as const, [when, "stream"] as const]),
  )("%s, of a call that is a %s", async (when, kind) => {
    await using dying = await openDying(answers[when]);
    const end = failureOf({ unary: call, stream: read }[kind](dying));
    await dying.called;
    if (when.endsWith("long quiet")) await setTimeout(quietMsMax * 6);
    dying.silence();
    expect(await end).toMatchObject(dead);
  });

  test("when its address is no more in use", async () => {
    await using dying = await openDying();
    const opened = Promise.withResolvers<void>();
    const { origin, hostname } = new URL(dying.url);
    const options = { origin, address: hostname, tls: () => ({}), quietMsMax };
    const subchannel = new Subchannel(options, () => opened.resolve());
    await opened.promise;
    const connection = subchannel.pick();
    connection?.reserve();
    const stream = connection?.open({ ":method": "POST", ":path": "/" });
    await dying.called;
    subchannel.close();
    dying.silence();
    const end = once(stream as NonNullable<typeof stream>, "close");
    await expect(within("its end", end)).rejects.toMatchObject(dead);
  });
});

test("a server that is quiet, but there, keeps its connection and is never pinged", async () => {
  const seen = { settings: 0, pings: 0 };
  const answer = (stream: ServerHttp2Stream) => {
    stream.session?.on("ping", () => seen.pings++);
    stream.session?.on("remoteSettings", () => {
      if (++seen.settings === 5) answerOk(stream, {});
    });
  };
  await using fake = await openFakeServer(answer, { quietMsMax: 200 });
  await call(fake);
  expect([fake.sessions.length, seen.pings]).toEqual([1, 0]);
});

test.each([20, Infinity])("without calls, a server is asked nothing: %d", async (quietMsMax) => {
  let settings = 0;
  const answer = (stream: ServerHttp2Stream) => {
    stream.session?.on("remoteSettings", () => settings++);
    answerOk(stream, {});
  };
  await using fake = await openFakeServer(answer, { quietMsMax });
  await call(fake);
  await setTimeout(20 * 10);
  expect(settings).toBe(0);
});

test("a call goes to no connection that has just fallen silent", async () => {
  let isAnswering = false;
  await using fake = await openFakeServer((stream, headers) => {
    if (isAnswering) answerOk(stream, headers);
  });
  await using front = await openFront(fake.port, { quietMsMax });
  const first = call(front);
  while (fake.sessions.length === 0) await setTimeout(2);
  await setTimeout(50);
  front.silence();
  front.resume();
  isAnswering = true;
  const again = first.catch(() => call(front));
  await within("the second answer", again);
});
