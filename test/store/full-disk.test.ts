/** SQLite on disks that have little space when the store is opened or closed. Only root can make such disks. */
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { PlantStore } from "../../src/plant.ts";
import { readPages } from "../../src/store/plant-reader.ts";
import { openSqlite } from "../../src/store/sqlite/thread.ts";
import {
  checkStore,
  copyPlants,
  openPlantReader,
  openStore,
  readSchemaState,
} from "../support/open-store.ts";
import { canMount, fileSystems, mountFileSystem } from "../support/small-file-system.ts";
import { plantOf, plantsOf } from "./plant-of.ts";
import { untilObstacle } from "./suite.ts";
import { openBeside, temporaryPath } from "./temporary.ts";

describe.skipIf(!canMount).each(fileSystems)("on %s", (kind) => {
  /** A disk with a store of some plants that is full before that closes, or after. */
  async function openFull(count: number, freeKib: number, when: "before" | "after" = "after") {
    const disk = await mountFileSystem(kind);
    onTestFinished(() => disk[Symbol.asyncDispose]());
    const path = join(disk.path, "plants.db");
    const url = `sqlite:${path}`;
    const store = count === 0 ? undefined : await openStore(url);
    if (store !== undefined) await create(store, count);
    if (when === "after") await store?.close();
    disk.fill(freeKib);
    await store?.close();
    return { disk, path, url };
  }

  async function create(store: PlantStore, count: number): Promise<void> {
    const name = "x".repeat(8000);
    for (const plant of plantsOf(count, 1)) await store.create({ ...plant, name });
  }

  async function countPlants(url: string): Promise<number> {
    await using reader = await openPlantReader(url);
    return reader.count;
  }

  // With 8 KiB and more, there is space for some blocks of the wal-index, which needs 32.
  test.each([
    [0, 0],
    [10, 0],
    [10, 8],
    [10, 24],
  ])("a start with %i plants and %i KiB free says so, and loses none", async (count, freeKib) => {
    const { disk, url } = await openFull(count, freeKib);
    const changes: unknown[] = [];
    // Closing has nothing to report, although nothing was opened.
    await (await openStore(url, { onFailure: (error) => void changes.push(error) })).close();
    const store = await openStore(url, { onObstacle: (obstacle) => void changes.push(obstacle) });
    onTestFinished(() => store.close());
    expect(store.obstacle()).toBe("disk_full");
    const creating = store.create({ ...plantOf(99), name: "x".repeat(99_999) });
    await expect(creating).rejects.toMatchObject({ code: "unavailable" });
    disk.empty();
    await untilObstacle(store);
    expect(await countPlants(url)).toBe(count);
    await create(store, 20);
    expect(changes).toEqual(["disk_full", undefined]);
  });

  test.each([4, 12])("%i KiB free, too few for a plant: it says so", async (freeKib) => {
    const disk = await mountFileSystem(kind);
    const store = await openStore(`sqlite:${join(disk.path, "plants.db")}`);
    onTestFinished(async () => {
      await store.close();
      await disk[Symbol.asyncDispose]();
    });
    await create(store, 10);
    disk.fill(freeKib);
    const creating = store.create({ ...plantOf(99), name: "x".repeat(16_000) });
    await expect(creating).rejects.toMatchObject({ code: "unavailable" });
    await untilObstacle(store, "disk_full");
    disk.empty();
    await untilObstacle(store);
    await create(store, 20);
  });

  test("a lock of another program, as there is space again, delays a start alone", async () => {
    const { disk, path } = await openFull(10, 0);
    const store = await openSqlite(path, {}, 100);
    onTestFinished(() => store.close());
    expect(store.obstacle()).toBe("disk_full");
    disk.empty();
    const other = openBeside(path);
    other.exec("BEGIN IMMEDIATE");
    await untilObstacle(store, "locked");
    other.exec("ROLLBACK");
    await untilObstacle(store);
    await create(store, 1);
  });

  test("a file that is moved away before there is space again is missed, not made anew", async () => {
    const { disk, path } = await openFull(10, 0);
    const failed = Promise.withResolvers<Error>();
    const store = await openSqlite(path, { onFailure: failed.resolve }, 100);
    onTestFinished(() => store.close());
    await rename(path, `${path}.old`);
    disk.empty();
    expect((await failed.promise).message).toContain("deleted, moved, cut or replaced");
  });

  test.each([0, 64, 2048])("no space for the log at shutdown, %i KiB free", async (freeKib) => {
    const { disk, url } = await openFull(400, freeKib, "before");
    const store = await openStore(url);
    onTestFinished(() => store.close());
    disk.empty();
    await untilObstacle(store);
    expect(await countPlants(url)).toBe(400);
    await create(store, 401);
  });

  test.each([0, 16])("%i KiB free: commands read, or say that it is full", async (freeKib) => {
    const { disk, url } = await openFull(100, freeKib);
    const from = `sqlite:${await temporaryPath()}`;
    await (await openStore(from)).close();
    const to = `sqlite:${join(disk.path, "copy.db")}`;
    const isFull = { message: expect.stringMatching(/space (left )?on the disk/) };
    const read = async () => {
      await using reader = await openPlantReader(url);
      for await (const _ of readPages(reader));
    };
    const copy = () => copyPlants({ from, to }, () => {});
    for (const work of [read, () => readSchemaState(url), copy]) {
      await work().catch((error) => expect(error).toMatchObject(isFull));
    }
    const findings = [];
    for await (const finding of checkStore(url)) findings.push(finding);
    expect(findings).toContainEqual(expect.objectContaining({ subject: "disk", level: "fail" }));
    const warnings = findings.filter(({ level }) => level === "warn").map(({ text }) => text);
    expect(warnings).toEqual(kind === "tmpfs" ? [expect.stringContaining("in memory")] : []);
  });
});
