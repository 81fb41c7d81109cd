/** One SQLite database used by several threads, each through its own end. */
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { within } from "../../packages/gateway/test/support/within.ts";
import type { CommitObserver } from "../../src/store/commit-observer.ts";
import { joinStore, openSharedStore } from "../../src/store/open.ts";
import type { StoreOptions } from "../../src/store/options.ts";
import type { SharedStore } from "../../src/store/shared-store.ts";
import { plantOf } from "./plant-of.ts";
import { expectKept, storeSuite } from "./suite.ts";
import { temporaryFolder, WorkerWatch } from "./temporary.ts";

const workers = new WorkerWatch();
afterAll(() => workers.end());

async function openShared(path: string, options?: StoreOptions): Promise<SharedStore> {
  const shared = await openSharedStore(`sqlite:${path}`, options);
  if (shared === undefined) throw new Error("SQLite is not shared");
  return shared;
}

function joinNew(shared: SharedStore, limits: StoreOptions["limits"] = {}) {
  const end = shared.openEnd();
  let rowsWaiting = 0;
  const observer: CommitObserver = {
    queueChanged(rows) {
      rowsWaiting = rows;
    },
    commitEnded() {},
  };
  const store = joinStore(end, { obstacle: () => undefined, limits, observer });
  const waiting = () => {
    store.isFull(); // processes what was taken
    return rowsWaiting;
  };
  return { end, store, waiting };
}

storeSuite("sqlite shared by threads", async () => {
  const path = join(await temporaryFolder(), "plants.db");
  return async () => {
    const shared = await openShared(path);
    const { store } = joinNew(shared);
    return {
      create: (plant, signal) => store.create(plant, signal),
      isFull: () => store.isFull(),
      obstacle: () => store.obstacle(),
      close: () => store.close().then(() => shared.close()),
    };
  };
});

async function openFresh() {
  const path = join(await temporaryFolder(), "plants.db");
  const shared = await openShared(path);
  const ends = [joinNew(shared), joinNew(shared)] as const;
  onTestFinished(async () => {
    await Promise.all(ends.map(({ store }) => store.close()));
    await shared.close();
  });
  return { path, shared, ends };
}

test("if different plants race for an id from two threads, exactly one wins", async () => {
  const { ends } = await openFresh();
  const racers = Array.from({ length: 400 }, (_, index) => ({
    store: ends[index % 2]?.store,
    plant: { id: BigInt(index >> 2), name: `plant ${index % 4}`, tag: undefined },
  }));
  const results = await Promise.allSettled(racers.map(({ store, plant }) => store?.create(plant)));
  const winners = racers.filter((_, index) => results[index]?.status === "fulfilled");
  expect(winners.map(({ plant }) => plant.id)).toEqual(
    Array.from({ length: 100 }, (_, id) => BigInt(id)),
  );
});

describe("while the database is locked", () => {
  async function openLocked() {
    const opened = await openFresh();
    const holder = new DatabaseSync(opened.path, { timeout: 5000 });
    onTestFinished(() => void holder.close());
    holder.exec("BEGIN IMMEDIATE");
    return { ...opened, release: () => holder.exec("COMMIT") };
  }

  test("what an ended thread left waiting is not written; the other threads continue", async () => {
    const { shared, ends, release } = await openLocked();
    const [living] = ends;
    const dying = joinNew(shared);
    const first = living.store.create(plantOf(1n));
    // Its commit has begun and waits for the lock.
    while (living.waiting() > 0) await nextTurn();
    void dying.store.create(plantOf(2n)).catch(() => {});
    await nextTurn();
    shared.releaseEnd(dying.end);
    release();
    await first;
    await living.store.create({ ...plantOf(2n), name: "another" });
  });

  test("each end has its own limits", async () => {
    const { shared, release } = await openLocked();
    const { store, waiting } = joinNew(shared, { waitingRowsMax: 10 });
    onTestFinished(() => store.close());
    const first = store.create(plantOf(100n));
    while (waiting() > 0) await nextTurn();
    const creating = Array.from({ length: 20 }, (_, id) => store.create(plantOf(BigInt(id))));
    const results = Promise.allSettled([first, ...creating]);
    release();
    const refused = (await results).filter((result) => result.status === "rejected");
    expect(refused.map(({ reason }) => reason.code)).toEqual(Array(10).fill("overloaded"));
  });

  test("if the store's thread ends, nobody waits forever, at any end", async () => {
    const { ends } = await openLocked();
    const creating = ends.map(({ store }, id) => store.create(plantOf(BigInt(id))));
    const results = Promise.allSettled(creating);
    await nextTurn();
    void workers.last.terminate();
    for (const result of await within("both ends", results)) {
      expect(result).toMatchObject({ reason: { code: "unavailable" } });
    }
    for (const { store } of ends) {
      await expect(store.create(plantOf(9n))).rejects.toMatchObject({ code: "unavailable" });
    }
  });
});

test("a thread that closes its end stays until its last commit is known", async () => {
  const { path, shared } = await openFresh();
  const holder = new DatabaseSync(path, { timeout: 5000 });
  onTestFinished(() => void holder.close());
  holder.exec("BEGIN IMMEDIATE");
  const end = shared.openEnd();
  const file = new URL("closing-thread.ts", import.meta.url);
  const thread = new Worker(file, { workerData: end, transferList: [end.port] });
  const messages: string[] = [];
  thread.on("message", (message) => {
    messages.push(message);
    if (message === "closing") setTimeout(() => holder.exec("COMMIT"), 100);
  });
  await within("the end of the thread", once(thread, "exit"));
  shared.releaseEnd(end);
  expect(messages).toEqual(["closing", "created", "closed"]);
});

test("closing one end leaves the store open for the others", async () => {
  const { shared, ends } = await openFresh();
  await ends[0].store.create(plantOf(1n));
  await ends[0].store.close();
  await expect(ends[0].store.create(plantOf(2n))).rejects.toMatchObject({ code: "unavailable" });
  await expectKept(ends[1].store, plantOf(1n));
  const third = joinNew(shared);
  await third.store.create(plantOf(3n));
  await third.store.close();
});
