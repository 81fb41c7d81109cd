/** A store that another thread has: the same promise, and few messages. */
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import { within } from "../../packages/gateway/test/support/within.ts";
import { type NewPlant, type Plant, PlantError, type PlantStore } from "../../src/plant.ts";
import { BatchedStore } from "../../src/store/batched-store.ts";
import { openStore } from "../../src/store/open.ts";
import { type CommitLimits, resolveLimits } from "../../src/store/options.ts";
import { hostStore } from "../../src/store/remote/host.ts";
import { RemoteStore } from "../../src/store/remote/store.ts";
import { MemoryEngine } from "./memory-engine.ts";
import { plantOf } from "./plant-of.ts";
import { storeSuite } from "./suite.ts";
import { temporaryFolder } from "./temporary.ts";

/** A store, and the way of another thread to it. */
function connect(host: PlantStore, limits?: Partial<CommitLimits>) {
  const { port1, port2 } = new MessageChannel();
  hostStore(host, port1);
  const options = { obstacle: () => host.obstacle(), limits: resolveLimits(limits) };
  const remote = new RemoteStore(port2, options);
  onTestFinished(async () => await remote.close());
  return { remote, hostPort: port1, remotePort: port2 };
}

storeSuite("sqlite through another thread", async () => {
  const path = join(await temporaryFolder(), "plants.db");
  return async () => {
    const host = await openStore(`sqlite:${path}`);
    const { remote } = connect(host);
    return {
      create: (plant, signal) => remote.create(plant, signal),
      isFull: () => remote.isFull(),
      obstacle: () => remote.obstacle(),
      close: () => remote.close().then(() => host.close()),
    };
  };
});

test("of different plants that race from two threads for an id, exactly one wins", async () => {
  const host = await openStore(`sqlite:${join(await temporaryFolder(), "plants.db")}`);
  onTestFinished(() => host.close());
  const threads = [connect(host).remote, connect(host).remote];
  const racers = Array.from({ length: 400 }, (_, index) => ({
    thread: threads[index % 2],
    plant: { id: BigInt(index >> 2), name: `plant ${index % 4}`, tag: undefined },
  }));
  const results = await Promise.allSettled(
    racers.map(({ thread, plant }) => thread?.create(plant)),
  );
  const winners = racers.filter((_, index) => results[index]?.status === "fulfilled");
  expect(winners.map(({ plant }) => plant.id)).toEqual(
    Array.from({ length: 100 }, (_, id) => BigInt(id)),
  );
});

/** A store whose creates end when the test says so. */
class HeldStore implements PlantStore {
  readonly held: {
    readonly plant: NewPlant;
    readonly signal: AbortSignal | undefined;
    readonly outcome: PromiseWithResolvers<Plant>;
  }[] = [];
  wake: () => void = () => {};

  create(plant: NewPlant, signal?: AbortSignal): Promise<Plant> {
    const outcome = Promise.withResolvers<Plant>();
    this.held.push({ plant, signal, outcome });
    this.wake();
    return outcome.promise;
  }

  /** Resolves when so many creates have come. */
  async until(count: number): Promise<void> {
    while (this.held.length < count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.wake = resolve;
      await within(`${count} creates`, promise);
    }
  }

  isFull(): boolean {
    return false;
  }

  obstacle(): undefined {}

  async close(): Promise<void> {}
}

function countMessages(port: MessagePort): () => number {
  let count = 0;
  port.on("message", () => count++);
  return () => count;
}

describe("messages", () => {
  test("carry all creates of a turn, and all outcomes of one", async () => {
    const engine = new MemoryEngine();
    const { remote, hostPort, remotePort } = connect(new BatchedStore(engine, resolveLimits()));
    const requests = countMessages(hostPort);
    const replies = countMessages(remotePort);
    await Promise.all(Array.from({ length: 500 }, (_, id) => remote.create(plantOf(BigInt(id)))));
    expect(engine.commits).toHaveLength(2); // the first is as large as a commit need be
    expect([requests(), replies()]).toEqual([1, 1]);
  });
});

describe("a caller that leaves", () => {
  test("is told to the store, which need not write its plant", async () => {
    const host = new HeldStore();
    const { remote } = connect(host);
    const caller = new AbortController();
    const creating = remote.create(plantOf(1n), caller.signal);
    const other = remote.create(plantOf(2n), new AbortController().signal);
    await host.until(2);
    const [left, stays] = host.held;
    const heard = Promise.withResolvers<void>();
    left?.signal?.addEventListener("abort", () => heard.resolve());
    caller.abort("gone");
    await expect(creating).rejects.toBe("gone");
    await within("the abort in the store", heard.promise);
    expect(stays?.signal?.aborted).toBe(false);
    left?.outcome.reject("gone");
    stays?.outcome.resolve({ name: "plant 2", tag: "tag 2" });
    expect(await other).toEqual({ name: "plant 2", tag: "tag 2" });
  });

  test("in the turn in which it came leaves nothing behind", async () => {
    const engine = new MemoryEngine();
    const { remote } = connect(new BatchedStore(engine, resolveLimits()));
    const caller = new AbortController();
    const creating = remote.create(plantOf(1n), caller.signal);
    caller.abort("gone");
    await expect(creating).rejects.toBe("gone");
    await remote.create(plantOf(2n));
    expect([...engine.plants.keys()]).toEqual([2n]);
  });

  test("with its whole thread is told to the store, too", async () => {
    const host = new HeldStore();
    const { remote, remotePort } = connect(host);
    const outcome = remote.create(plantOf(1n)).catch((error: unknown) => error);
    await host.until(1);
    const heard = Promise.withResolvers<void>();
    host.held[0]?.signal?.addEventListener("abort", () => heard.resolve());
    remotePort.close();
    await within("the abort in the store", heard.promise);
    expect(await outcome).toMatchObject({ code: "unavailable" });
  });
});

describe("an error", () => {
  const cause = new Error("no space left");
  test.each([
    new PlantError("id_taken", "another plant has the id 1", { field: "id" }),
    new PlantError("overloaded", "too much"),
    new PlantError("unavailable", "not confirmed", { cause }),
  ])("keeps its code, message, field and cause: $code", async (error) => {
    const host = new HeldStore();
    const { remote } = connect(host);
    const creating = remote.create(plantOf(1n));
    await host.until(1);
    host.held[0]?.outcome.reject(error);
    const thrown = await creating.catch((reason: unknown) => reason);
    expect(thrown).toBeInstanceOf(PlantError);
    const { code, message, field } = error;
    expect(thrown).toMatchObject({ code, message, field });
    expect((thrown as PlantError).cause).toEqual(error.cause);
  });

  test("that no store should throw arrives as well", async () => {
    const host = new HeldStore();
    const { remote } = connect(host);
    const creating = remote.create(plantOf(1n));
    await host.until(1);
    host.held[0]?.outcome.reject(new TypeError("a mistake"));
    await expect(creating).rejects.toThrow(new TypeError("a mistake"));
  });

  test("of an invalid plant comes at once, and nothing crosses", async () => {
    const host = new HeldStore();
    const { remote } = connect(host);
    const beyond = { id: 2n ** 63n, name: "Fern", tag: undefined };
    await expect(remote.create(beyond)).rejects.toMatchObject({ code: "invalid", field: "id" });
    await nextTurn();
    expect(host.held).toEqual([]);
  });
});

describe("limits", () => {
  test("are those of the one store, for all threads together", async () => {
    const engine = new MemoryEngine();
    const limits = { waitingRowsMax: 10 };
    const host = new BatchedStore(engine, resolveLimits(limits));
    const threads = [connect(host, limits).remote, connect(host, limits).remote];
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, id) => threads[id % 2]?.create(plantOf(BigInt(id)))),
    );
    const refused = results.filter((result) => result.status === "rejected");
    expect(refused.map(({ reason }) => reason.code)).toEqual(Array(10).fill("overloaded"));
    expect(engine.plants.size).toBe(10);
  });

  test.each<[string, Partial<CommitLimits>, number]>([
    ["rows", { waitingRowsMax: 3, batchRowsMax: 2 }, 5],
    ["bytes", { waitingBytesMax: 3 * 2512, batchBytesMax: 2 * 2512 }, 5],
  ])("keep more %s from crossing than the store would take", async (_, limits, room) => {
    const host = new HeldStore();
    const { remote } = connect(host, limits);
    const plant = (id: number) => ({ id: BigInt(id), name: "x".repeat(1000), tag: undefined });
    const creating = Array.from({ length: room }, (_, id) => remote.create(plant(id)));
    await expect(remote.create(plant(room))).rejects.toMatchObject({ code: "overloaded" });
    expect(remote.isFull()).toBe(true);
    await host.until(room);
    for (const { plant, outcome } of host.held) outcome.resolve(plant);
    await Promise.all(creating);
    expect(remote.isFull()).toBe(false);
    const again = remote.create(plant(room));
    await host.until(room + 1);
    host.held.at(-1)?.outcome.resolve(plant(room));
    await again;
  });
});

test("when the thread of the store ends, nobody waits for ever", async () => {
  const host = new HeldStore();
  const { remote, hostPort } = connect(host);
  const creating = remote.create(plantOf(1n));
  await host.until(1);
  hostPort.close();
  await expect(creating).rejects.toMatchObject({ code: "unavailable" });
  expect(remote.obstacle()).toBe("closed");
  await expect(remote.create(plantOf(2n))).rejects.toMatchObject({ code: "unavailable" });
});
