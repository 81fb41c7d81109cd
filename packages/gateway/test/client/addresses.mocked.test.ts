/** The addresses of a name: which are called, and when they are looked up. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { setImmediate, setTimeout } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Subchannel } from "../../src/client/subchannel.ts";
import { collect } from "../support/collect.ts";
import { createTemporaryFolder } from "../support/temporary-folder.ts";
import { patienceMs, within } from "../support/within.ts";
import { answerOk, call, failureOf, openCaller, openFakeServer } from "./fake-server.ts";
import { openFront } from "./front.ts";

const lookup = vi.hoisted(() => vi.fn());
vi.mock("node:dns/promises", () => ({ lookup }));

const first = "127.0.0.1";
const second = "127.0.0.2";

function resolveTo(...addresses: readonly string[]): void {
  lookup.mockResolvedValue(addresses.map((address) => ({ address, family: 4 })));
}

beforeEach(() => {
  lookup.mockReset();
});

function clientOf(port: number, options: { quietMsMax?: number } = {}) {
  const caller = openCaller({ url: `http://library.test:${port}`, ...options });
  onTestFinished(() => caller.transport.close());
  return caller;
}

/** Of each that a client opens from now on. */
function onSocket(told: (socket: Socket) => void): void {
  const listener = (message: unknown) => told((message as { socket: Socket }).socket);
  subscribe("net.client.socket", listener);
  onTestFinished(() => void unsubscribe("net.client.socket", listener));
}

/** In this test, time passes as it says. */
function stopClock(): void {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Two fronts of one server, at two addresses. */
async function openFronts(answer = answerOk) {
  const fake = await openFakeServer(answer);
  const one = await openFront(fake.port, { host: first });
  const other = await openFront(fake.port, { host: second, port: one.port });
  onTestFinished(async () => {
    await other[Symbol.asyncDispose]();
    await one[Symbol.asyncDispose]();
    await fake[Symbol.asyncDispose]();
  });
  return { one, other, port: one.port };
}

// Other systems have no such addresses by themselves.
describe.skipIf(process.platform !== "linux")("a name with two addresses", () => {
  test("is called at both in turn, and at the other when a server dies", async () => {
    resolveTo(first, second);
    const { other: dying, port } = await openFronts();
    const client = clientOf(port, { quietMsMax: 100 });
    const isAnswered = async () => {
      // A call that fails at once must leave the others their turn.
      await setImmediate();
      return call(client, { timeoutMs: 200 }).then(
        () => true,
        () => false,
      );
    };
    const untilBothAreUsed = async () => {
      while (dying.connections === 0) await isAnswered();
    };
    await within("calls by both addresses", untilBothAreUsed());
    dying.silence();
    const allGoWell = async () => {
      for (let inTurn = 0; inTurn < 20; ) inTurn = (await isAnswered()) ? inTurn + 1 : 0;
    };
    await within("twenty answers in turn", allGoWell());
  });

  test("is called at the other once a server has owed an answer for a second", async () => {
    stopClock();
    resolveTo(first, second);
    const { other: hanging, port } = await openFronts();
    const client = clientOf(port);
    while (hanging.connections === 0) await call(client);
    await call(client);
    hanging.silence();
    const inTurn = [1, 2].map(() => call(client));
    await within("the answer of one", Promise.any(inTurn));
    vi.advanceTimersByTime(1001);
    for (let calls = 0; calls < 4; calls++) await call(client);
    void Promise.allSettled(inTurn);
  });

  test("is called at both while a stream of one is quiet", async () => {
    stopClock();
    resolveTo(first, second);
    const counts = new Map<unknown, number>();
    const watched = Promise.withResolvers<void>();
    const { port } = await openFronts((stream, headers) => {
      counts.set(stream.session, (counts.get(stream.session) ?? 0) + 1);
      if (headers[":path"]?.endsWith("WatchVolumes")) watched.resolve();
      else answerOk(stream, headers);
    });
    const client = clientOf(port);
    while (counts.size < 2) await call(client);
    const watching = client.catalog.watchVolumes({})[Symbol.asyncIterator]().next();
    watching.catch(() => {}); // the end of the test
    await watched.promise;
    vi.advanceTimersByTime(1001);
    counts.clear();
    for (let calls = 0; calls < 20; calls++) await call(client);
    expect(Math.min(...counts.values())).toBeGreaterThan(5);
    expect(counts.size).toBe(2);
  });

  describe("is looked up", () => {
    beforeEach(stopClock);

    test("every 30 s while all goes well", async () => {
      resolveTo(first);
      const { one, port } = await openFronts();
      const client = clientOf(port);
      for (const [i, ms] of [0, 30_000, 1, 30_000].entries()) {
        vi.advanceTimersByTime(ms);
        await call(client);
        expect(lookup, `after ${ms} ms more`).toHaveBeenCalledTimes(i < 2 ? 1 : 2);
      }
      expect(lookup).toHaveBeenLastCalledWith("library.test", { all: true });
      expect(one.connections).toBe(1);
    });

    test("every second while one of them is away", async () => {
      const { port } = await openFronts();
      const client = clientOf(port);
      let lastAt = 0;
      lookup.mockImplementation(async () => {
        lastAt = performance.now();
        return [first, "127.0.0.3"].map((address) => ({ address, family: 4 }));
      });
      // Not by `vi.waitFor`, which advances the clock of its own accord.
      while (lookup.mock.calls.length < 2) {
        vi.advanceTimersByTime(1001);
        await call(client);
        await setImmediate();
      }
      await call(client); // a lookup may still have been under way
      const { length } = lookup.mock.calls;
      // A timer may have asked before the clock had come this far.
      vi.advanceTimersByTime(lastAt + 1000 - performance.now());
      await call(client);
      expect(lookup).toHaveBeenCalledTimes(length);
      vi.advanceTimersByTime(1);
      await call(client);
      expect(lookup).toHaveBeenCalledTimes(length + 1);
    });

    test("as it goes away, before the next call", async () => {
      resolveTo(first);
      const { one, other, port } = await openFronts();
      await call(clientOf(port));
      resolveTo(second);
      vi.advanceTimersByTime(30_001);
      await one[Symbol.asyncDispose]();
      await vi.waitFor(() => expect(other.connections).toBe(1), patienceMs);
    });

    test("ever more rarely while that fails", async () => {
      lookup.mockRejectedValue(new Error("the resolver is away"));
      const client = clientOf(9);
      for (let ms = 0; ms < 1000; ms++) {
        await failureOf(call(client));
        vi.advanceTimersByTime(1);
      }
      expect(lookup.mock.calls.length).toBeGreaterThanOrEqual(5);
      expect(lookup.mock.calls.length).toBeLessThanOrEqual(8);
    });
  });

  describe("that goes away", () => {
    beforeEach(stopClock);

    test("is forgotten when its calls are over", async () => {
      const { one, other, port } = await openFronts();
      const client = clientOf(port);
      for (let turn = 0; turn < 4; turn++) {
        resolveTo(turn % 2 === 0 ? first : second);
        vi.advanceTimersByTime(30_001);
        await vi.waitFor(async () => {
          await call(client);
          expect([one.open, other.open]).toEqual(turn % 2 === 0 ? [1, 0] : [0, 1]);
        }, patienceMs);
      }
      using destroy = vi.spyOn(Subchannel.prototype, "destroy");
      client.transport.close();
      // The last one, and the one before it.
      expect(destroy).toHaveBeenCalledTimes(2);
    });

    test("leaves the calls that wait for it to another", async () => {
      resolveTo(first);
      const { one, other, port } = await openFronts();
      one.silence();
      const client = clientOf(port);
      const waiting = call(client);
      await vi.waitFor(() => expect(one.open).toBe(1), patienceMs);
      resolveTo(second);
      vi.advanceTimersByTime(30_001);
      await call(client);
      await waiting;
      expect(other.open).toBe(1);
    });

    test.each(["its end", "the end of the transport"])(
      "finishes its calls, until %s",
      async (end) => {
        resolveTo(first);
        const ends: (() => void)[] = [];
        const { other, port } = await openFronts((stream, headers) => {
          if (!`${headers[":path"]}`.endsWith("WatchVolumes")) return answerOk(stream, headers);
          ends.push(() => answerOk(stream, headers));
        });
        const client = clientOf(port);
        const volumes = collect(client.catalog.watchVolumes({})).catch((reason: unknown) => reason);
        await vi.waitUntil(() => ends.length === 1, patienceMs);
        resolveTo(second);
        vi.advanceTimersByTime(30_001);
        await vi.waitFor(async () => {
          await call(client);
          expect(other.connections).toBe(1);
        }, patienceMs);
        vi.advanceTimersByTime(30_001);
        await call(client);
        if (end === "its end") ends[0]?.();
        else client.transport.close();
        const expected = end === "its end" ? [{}] : { code: Code.Unavailable };
        expect(await within("the end of the call", volumes)).toMatchObject(expected);
      },
    );
  });

  test("of which one refuses is called at the other, whose server is slow to answer", async () => {
    resolveTo(first, "127.0.0.3");
    const { one, port } = await openFronts();
    one.silence();
    const refused = Promise.withResolvers<void>();
    onSocket((socket) => socket.once("error", () => refused.resolve()));
    const waiting = call(clientOf(port));
    await refused.promise;
    await setImmediate();
    one.resume();
    await waiting;
  });

  test("that is listed twice has one connection", async () => {
    resolveTo(first, first);
    const { one, port } = await openFronts();
    const client = clientOf(port);
    await Promise.all([call(client), call(client)]);
    for (let calls = 0; calls < 5; calls++) await call(client);
    expect([one.connections, lookup.mock.calls.length]).toEqual([1, 1]);
  });
});

test.each(["an address", "a Unix socket"])("%s is not looked up", async (kind) => {
  await using fake = await openFakeServer(answerOk);
  await using folder = await createTemporaryFolder();
  const path = join(folder.path, "socket");
  const front = createServer((socket) => {
    socket.pipe(connect(fake.port, "127.0.0.1")).pipe(socket);
  }).listen(path);
  await once(front, "listening");
  const client = openCaller({ url: kind === "an address" ? fake.url : `unix:${path}` });
  await call(client);
  expect(lookup).not.toHaveBeenCalled();
  expect(fake.sessions).toHaveLength(1);
  client.transport.close();
  front.close();
  await once(front, "close");
});

test("a transport that ends while its name is looked up connects to nothing", async () => {
  const found = Promise.withResolvers<{ address: string }[]>();
  lookup.mockReturnValue(found.promise);
  await using fake = await openFakeServer(answerOk);
  const client = clientOf(fake.port);
  const failure = failureOf(call(client));
  client.transport.close();
  const opened: unknown[] = [];
  onSocket((socket) => opened.push(socket));
  found.resolve([{ address: first }]);
  expect(await failure).toMatchObject({ code: Code.Unavailable });
  await setImmediate();
  expect(opened).toEqual([]);
});

test("of very many addresses, 64 are called", async () => {
  resolveTo(...Array.from({ length: 100 }, (_, i) => `127.1.0.${i + 1}`));
  const called = new Set<unknown>();
  onSocket((socket) =>
    socket.once("error", (error: Error & { address?: string }) => called.add(error.address)),
  );
  await failureOf(call(clientOf(9)));
  expect(called.size).toBe(64);
});

test("a name that cannot be looked up in time is looked up for calls alone", async () => {
  lookup.mockImplementation(async () => {
    await setTimeout(60);
    throw new Error("the resolver is away");
  });
  await failureOf(call(clientOf(9)));
  await setTimeout(200);
  expect(lookup).toHaveBeenCalledTimes(1);
});

test("a name without addresses is looked up again, and each call has an error of its own", async () => {
  lookup.mockResolvedValueOnce([]);
  lookup.mockRejectedValueOnce(new Error("the resolver is away"));
  await using fake = await openFakeServer(answerOk);
  const client = clientOf(fake.port);
  const [one, other] = await Promise.all([failureOf(call(client)), failureOf(call(client))]);
  const told = { code: Code.Unavailable, rawMessage: "library.test has no address" };
  expect([one, other]).toMatchObject([told, told]);
  expect(one).not.toBe(other);
  resolveTo(first);
  const reasons = new Set<string>();
  const untilAnswered = async () => {
    for (;;) {
      const answer = await call(client).catch(ConnectError.from);
      if (!(answer instanceof ConnectError)) return;
      reasons.add(answer.rawMessage);
      await setImmediate();
    }
  };
  await within("an answer", untilAnswered());
  expect([...reasons]).toEqual(["library.test has no address", "the resolver is away"]);
  expect(lookup).toHaveBeenCalledTimes(3);
});
