/** The addresses of a name: which are called, and when they are looked up. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { setImmediate, setTimeout } from "node:timers/promises";
import { Code, type ConnectError, createClient } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { openGrpcTransport } from "../../src/client/index.ts";
import { Subchannel } from "../../src/client/subchannel.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { createTemporaryFolder } from "../support/temporary-folder.ts";
import { patienceMs, within } from "../support/within.ts";
import { answerOk, openFakeServer } from "./fake-server.ts";
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

const call = (catalog: ReturnType<typeof clientOf>) =>
  within("an answer", catalog.getVolume({ name: "shelves/a/volumes/1" }));

const failureOf = (catalog: ReturnType<typeof clientOf>) =>
  call(catalog).then(
    () => expect.fail("the call went well"),
    (error: unknown) => error as ConnectError,
  );

function clientOf(port: number | string, options: { quietMsMax?: number } = {}) {
  const transport = openGrpcTransport({ url: `http://library.test:${port}`, ...options });
  onTestFinished(() => transport.close());
  return createClient(CatalogService, transport);
}

/** Two fronts of one server, at two addresses. */
async function openFronts(answer = answerOk) {
  const fake = await openFakeServer(answer);
  const behind = Number(new URL(fake.url).port);
  const one = await openFront(behind, { host: first });
  const other = await openFront(behind, { host: second, port: one.port });
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
    const catalog = clientOf(port, { quietMsMax: 100 });
    const isAnswered = async () => {
      // A call that fails at once must leave the others their turn.
      await setImmediate();
      return catalog.getVolume({ name: "shelves/a/volumes/1" }, { timeoutMs: 200 }).then(
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
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    resolveTo(first, second);
    const { other: hanging, port } = await openFronts();
    const catalog = clientOf(port);
    while (hanging.connections === 0) await call(catalog);
    await call(catalog);
    hanging.silence();
    const inTurn = [1, 2].map(() => catalog.getVolume({ name: "shelves/a/volumes/1" }));
    await within("the answer of one", Promise.any(inTurn));
    vi.advanceTimersByTime(1001);
    for (let calls = 0; calls < 4; calls++) await call(catalog);
    void Promise.allSettled(inTurn);
  });

  test("is called at both while a stream of one is quiet", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    resolveTo(first, second);
    const counts = new Map<unknown, number>();
    const watched = Promise.withResolvers<void>();
    const { port } = await openFronts((stream, headers) => {
      counts.set(stream.session, (counts.get(stream.session) ?? 0) + 1);
      if (headers[":path"]?.endsWith("WatchVolumes")) watched.resolve();
      else answerOk(stream, headers);
    });
    const catalog = clientOf(port);
    while (counts.size < 2) await call(catalog);
    const watching = catalog.watchVolumes({})[Symbol.asyncIterator]().next();
    watching.catch(() => {}); // the end of the test
    await watched.promise;
    vi.advanceTimersByTime(1001);
    counts.clear();
    for (let calls = 0; calls < 20; calls++) await call(catalog);
    expect(Math.min(...counts.values())).toBeGreaterThan(5);
    expect(counts.size).toBe(2);
  });

  describe("is looked up", () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
    afterEach(() => void vi.useRealTimers());

    test("every 30 s while all goes well", async () => {
      resolveTo(first);
      const { one, port } = await openFronts();
      const catalog = clientOf(port);
      for (const [ms, lookups] of [
        [0, 1],
        [30_000, 1],
        [1, 2],
        [30_000, 2],
      ] as const) {
        vi.advanceTimersByTime(ms);
        await call(catalog);
        expect(lookup, `after ${ms} ms more`).toHaveBeenCalledTimes(lookups);
      }
      expect(lookup).toHaveBeenLastCalledWith("library.test", { all: true });
      expect(one.connections).toBe(1);
    });

    test("every second while one of them is away", async () => {
      const { port } = await openFronts();
      const catalog = clientOf(port);
      let lastAt = 0;
      lookup.mockImplementation(async () => {
        lastAt = performance.now();
        return [first, "127.0.0.3"].map((address) => ({ address, family: 4 }));
      });
      // Not by `vi.waitFor`, which advances the clock of its own accord.
      while (lookup.mock.calls.length < 2) {
        vi.advanceTimersByTime(1001);
        await call(catalog);
        await setImmediate();
      }
      await call(catalog); // a lookup may still have been under way
      const { length } = lookup.mock.calls;
      // A timer may have asked before the clock had come this far.
      vi.advanceTimersByTime(lastAt + 1000 - performance.now());
      await call(catalog);
      expect(lookup).toHaveBeenCalledTimes(length);
      vi.advanceTimersByTime(1);
      await call(catalog);
      expect(lookup).toHaveBeenCalledTimes(length + 1);
    });

    test("as it goes away, before the next call", async () => {
      resolveTo(first);
      const { one, other, port } = await openFronts();
      const catalog = clientOf(port);
      await call(catalog);
      resolveTo(second);
      vi.advanceTimersByTime(30_001);
      await one[Symbol.asyncDispose]();
      await vi.waitFor(() => expect(other.connections).toBe(1), patienceMs);
    });

    test("ever more rarely while that fails", async () => {
      lookup.mockRejectedValue(new Error("the resolver is away"));
      const catalog = clientOf(9);
      for (let ms = 0; ms < 1000; ms++) {
        await failureOf(catalog);
        vi.advanceTimersByTime(1);
      }
      expect(lookup.mock.calls.length).toBeGreaterThanOrEqual(5);
      expect(lookup.mock.calls.length).toBeLessThanOrEqual(8);
    });

    test("and then called at new addresses alone", async () => {
      resolveTo(first);
      const { one, other, port } = await openFronts();
      const catalog = clientOf(port);
      await call(catalog);
      resolveTo(second);
      vi.advanceTimersByTime(30_001);
      await vi.waitFor(async () => {
        await call(catalog);
        expect(other.connections).toBe(1);
      }, patienceMs);
      for (let calls = 0; calls < 5; calls++) await call(catalog);
      expect([one.connections, other.connections]).toEqual([1, 1]);
      await vi.waitFor(() => expect(one.open).toBe(0), patienceMs);
    });
  });

  describe("that goes away", () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
    afterEach(() => void vi.useRealTimers());

    test("is forgotten when its calls are over", async () => {
      const { one, other, port } = await openFronts();
      const transport = openGrpcTransport({ url: `http://library.test:${port}` });
      const catalog = createClient(CatalogService, transport);
      for (let turn = 0; turn < 4; turn++) {
        resolveTo(turn % 2 === 0 ? first : second);
        vi.advanceTimersByTime(30_001);
        await vi.waitFor(async () => {
          await call(catalog);
          expect([one.open, other.open]).toEqual(turn % 2 === 0 ? [1, 0] : [0, 1]);
        }, patienceMs);
      }
      const destroy = vi.spyOn(Subchannel.prototype, "destroy");
      transport.close();
      // The last one, and the one before it.
      expect(destroy).toHaveBeenCalledTimes(2);
      destroy.mockRestore();
    });

    test("leaves the calls that wait for it to another", async () => {
      resolveTo(first);
      const { one, other, port } = await openFronts();
      one.silence();
      const catalog = clientOf(port);
      const waiting = call(catalog);
      await vi.waitFor(() => expect(one.open).toBe(1), patienceMs);
      resolveTo(second);
      vi.advanceTimersByTime(30_001);
      await call(catalog);
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
        const transport = openGrpcTransport({ url: `http://library.test:${port}` });
        const catalog = createClient(CatalogService, transport);
        const volumes = (async () => {
          let count = 0;
          for await (const _ of catalog.watchVolumes({})) count++;
          return count;
        })().catch((reason: unknown) => reason);
        await vi.waitUntil(() => ends.length === 1, patienceMs);
        resolveTo(second);
        vi.advanceTimersByTime(30_001);
        await vi.waitFor(async () => {
          await call(catalog);
          expect(other.connections).toBe(1);
        }, patienceMs);
        vi.advanceTimersByTime(30_001);
        await call(catalog);
        if (end === "its end") ends[0]?.();
        else transport.close();
        const expected =
          end === "its end" ? 1 : expect.objectContaining({ code: Code.Unavailable });
        expect(await within("the end of the call", volumes)).toEqual(expected);
        transport.close();
      },
    );
  });

  test("is called at both alike", async () => {
    resolveTo(first, second);
    const called = new Map<unknown, number>();
    const { one, other, port } = await openFronts((stream, headers) => {
      called.set(stream.session, (called.get(stream.session) ?? 0) + 1);
      answerOk(stream, headers);
    });
    const catalog = clientOf(port);
    while (one.connections + other.connections < 2) await call(catalog);
    while (called.size < 2) await call(catalog);
    called.clear();
    for (let calls = 0; calls < 10; calls++) await call(catalog);
    expect([...called.values()]).toEqual([5, 5]);
  });

  test("of which one refuses is called at the other, whose server is slow to answer", async () => {
    resolveTo(first, "127.0.0.3");
    const { one, port } = await openFronts();
    one.silence();
    const refused = Promise.withResolvers<void>();
    const onSocket = (message: unknown) => {
      const { socket } = message as { socket: Socket };
      socket.once("error", () => refused.resolve());
    };
    subscribe("net.client.socket", onSocket);
    onTestFinished(() => void unsubscribe("net.client.socket", onSocket));
    const waiting = call(clientOf(port));
    await refused.promise;
    await setImmediate();
    one.resume();
    await waiting;
  });

  test("that is listed twice has one connection", async () => {
    resolveTo(first, first);
    const { one, port } = await openFronts();
    const catalog = clientOf(port);
    await Promise.all([call(catalog), call(catalog)]);
    for (let calls = 0; calls < 5; calls++) await call(catalog);
    expect([one.connections, lookup.mock.calls.length]).toEqual([1, 1]);
  });
});

test.each(["an address", "a Unix socket"])("%s is not looked up", async (kind) => {
  await using fake = await openFakeServer(answerOk);
  await using folder = await createTemporaryFolder();
  const path = join(folder.path, "socket");
  const front = createServer((socket) => {
    socket.pipe(connect(Number(new URL(fake.url).port), "127.0.0.1")).pipe(socket);
  }).listen(path);
  await once(front, "listening");
  const url = kind === "an address" ? fake.url : `unix:${path}`;
  const transport = openGrpcTransport({ url });
  await call(createClient(CatalogService, transport));
  expect(lookup).not.toHaveBeenCalled();
  expect(fake.sessions).toHaveLength(1);
  transport.close();
  front.close();
  await once(front, "close");
});

test("a transport that ends while its name is looked up connects to nothing", async () => {
  const found = Promise.withResolvers<{ address: string }[]>();
  lookup.mockReturnValue(found.promise);
  await using fake = await openFakeServer(answerOk);
  const transport = openGrpcTransport({ url: `http://library.test:${new URL(fake.url).port}` });
  const failure = failureOf(createClient(CatalogService, transport));
  transport.close();
  const opened: unknown[] = [];
  const onSocket = (message: unknown) => opened.push(message);
  subscribe("net.client.socket", onSocket);
  onTestFinished(() => void unsubscribe("net.client.socket", onSocket));
  found.resolve([{ address: first }]);
  expect(await failure).toMatchObject({ code: Code.Unavailable });
  await setImmediate();
  expect(opened).toEqual([]);
});

test("of very many addresses, 64 are called", async () => {
  resolveTo(...Array.from({ length: 100 }, (_, i) => `127.1.0.${i + 1}`));
  const called = new Set<unknown>();
  const onSocket = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    socket.once("error", (error: NodeJS.ErrnoException & { address?: string }) =>
      called.add(error.address),
    );
  };
  subscribe("net.client.socket", onSocket);
  onTestFinished(() => void unsubscribe("net.client.socket", onSocket));
  await failureOf(clientOf(9));
  expect(called.size).toBe(64);
});

test("a name that cannot be looked up in time is looked up for calls alone", async () => {
  lookup.mockImplementation(async () => {
    await setTimeout(60);
    throw new Error("the resolver is away");
  });
  await failureOf(clientOf(9));
  await setTimeout(200);
  expect(lookup).toHaveBeenCalledTimes(1);
});

test("a name without addresses is looked up again, and each call has an error of its own", async () => {
  lookup.mockResolvedValueOnce([]);
  lookup.mockRejectedValueOnce(new Error("the resolver is away"));
  await using fake = await openFakeServer(answerOk);
  const catalog = clientOf(new URL(fake.url).port);
  const [one, other] = await Promise.all([failureOf(catalog), failureOf(catalog)]);
  const told = { code: Code.Unavailable, rawMessage: "library.test has no address" };
  expect([one, other]).toMatchObject([told, told]);
  expect(one).not.toBe(other);
  resolveTo(first);
  const reasons = new Set<string>();
  const untilAnswered = async () => {
    for (;;) {
      const error = await call(catalog).then(
        () => undefined,
        (reason: unknown) => reason as ConnectError,
      );
      if (error === undefined) return;
      reasons.add(error.rawMessage);
      await setImmediate();
    }
  };
  await within("an answer", untilAnswered());
  expect([...reasons]).toEqual(["library.test has no address", "the resolver is away"]);
  expect(lookup).toHaveBeenCalledTimes(3);
});
