/** `plant-store copy`, from every kind of store to every kind. */
import { readdir } from "node:fs/promises";
import { dirname } from "node:path";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { NewPlant } from "../../src/plant.ts";
import type { CopyPhase } from "../../src/store/copy.ts";
import { plantOf, plantsOf } from "../store/plant-of.ts";
import { exactPlants, type PlaceKind, placeKinds, seed } from "../store/reader-places.ts";
import { copyPlants, openStore } from "../support/open-store.ts";
import { password } from "../support/postgres-databases.ts";
import { hasPostgres } from "../support/postgres-server.ts";
import { runInProcess } from "../support/run-in-process.ts";
import { sharedServer } from "../support/shared-postgres.ts";

const [sqlite, postgres] = placeKinds(sharedServer) as [PlaceKind, PlaceKind];

// Source and target do not know each other: each engine is both, once.
const both = hasPostgres ? [sqlite, postgres] : [sqlite];
const pairs = both.map((from, index) => ({ from, to: both.at(index - 1) ?? from }));

/** More than three pages. */
const many: readonly NewPlant[] = plantsOf(4500).map(({ id }) => plantOf(1000n + 3n * id));

/** Two pages. */
const some = many.slice(0, 1200);
const inOrder = (plants: readonly NewPlant[]) => plants.toSorted((a, b) => (a.id < b.id ? -1 : 1));
const everything = inOrder([...exactPlants, ...some]);
const all = inOrder([...exactPlants, ...many]);

async function placesOf({ from, to }: (typeof pairs)[number], plants: readonly NewPlant[]) {
  const [source, target] = [await from.fresh(), await to.fresh()];
  await seed(source.url, plants);
  const run = () => runInProcess(["copy", "--from", source.url, "--to", target.url]);
  return { source, target, run };
}

const otherSessions = `SELECT query FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()`;

const verified = (count: number) =>
  new RegExp(`\\nverified: both hold the same ${count} plants; every field was compared\\n$`);

describe.each(pairs)("$from.name to $to.name", (pair) => {
  test("copies every plant exactly, says that it has verified them, and shows no password", async () => {
    const { source, target, run } = await placesOf(pair, everything);
    const { code, stdout, stderr } = await run();
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const copied = /^copied 1211 plants from (sqlite|postgres):\S+ to (sqlite|postgres):\S+\n/;
    expect(stdout).toMatch(copied);
    expect(stdout).toMatch(verified(1211));
    expect(stdout).not.toContain(password);
    expect(stdout).not.toContain(encodeURIComponent(password));
    const [, file] = /^sqlite:(.*)/.exec(target.url) ?? [];
    if (file !== undefined) expect(await readdir(dirname(file))).toEqual(["plants.db"]);
    // A session that is left keeps the command from ending.
    const place = pair.from === postgres ? source : target;
    const itself = { from: place.url, to: place.url.replace(/(?<=@)[^/]+/, "$&,$&") };
    if (hasPostgres) await expect(copyPlants(itself, () => {})).rejects.toThrow("the same store");
    const exported = await runInProcess(["export", "--store", place.url]);
    expect(exported.stdout.split("\n")).toHaveLength(1212);
    if (hasPostgres) await expect.poll(() => place.execute(otherSessions)).toEqual([]);
    expect(await target.read()).toStrictEqual(everything);
    expect(await source.read()).toStrictEqual(everything);
    // A second run finds all of them, and changes nothing.
    const again = await run();
    expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(verified(1211)) });
    expect(again.stdout).toContain("(1211 of them were there already)");
    expect(await target.read()).toStrictEqual(everything);
  });

  // What the target holds without a gap is not written again, except the last plant of a whole copy.
  test.each([
    ["the first 2000", all.slice(0, 2000), 3000],
    ["a third", all.filter((_, index) => index % 3 === 1), 1000],
    ["all", all, all.length],
  ])("a target that holds %s of the plants is filled up", async (_, held, firstDone) => {
    const { source, target } = await placesOf(pair, all);
    await seed(target.url, held);
    const told: [CopyPhase, number][] = [];
    const onProgress = (...[phase, done]: [CopyPhase, number]) => void told.push([phase, done]);
    const copied = await copyPlants({ from: source.url, to: target.url }, onProgress);
    expect(copied).toEqual({ plants: all.length, heldBefore: held.length });
    expect(told.find(([phase]) => phase === "copying")).toEqual(["copying", firstDone]);
    const ends = { comparing: held.length, copying: all.length, verifying: all.length };
    expect(Object.fromEntries(told)).toEqual(ends);
    expect(await target.read()).toStrictEqual(all);
  });

  test("another plant in the target, or one alone, stops the copy before anything is written", async () => {
    const { target, run } = await placesOf(pair, [
      plantOf(1n),
      { id: 7n, name: "n", tag: "t" },
      { id: 8n, name: "n", tag: "" },
      { id: 9n, name: "n" },
      plantOf(10n),
    ]);
    const differs = "is another plant in the target";
    for (const [other, problem] of [
      [{ id: 7n, name: "other", tag: "t" }, `plant 7 ${differs}`],
      [{ id: 8n, name: "n" }, `plant 8 ${differs}`],
      [{ id: 9n, name: "n", tag: "" }, `plant 9 ${differs}`],
      [plantOf(0n), "the target holds plant 0, which the source does not have"],
      [plantOf(5n), "the target holds plant 5, which the source does not have"],
      [plantOf(11n), "the target holds plant 11, which the source does not have"],
    ] as const) {
      await seed(target.url, [other]);
      const stderr = expect.stringMatching(new RegExp(`^plant-store: ${problem}[^\n]*\n$`));
      expect(await run()).toEqual({ code: 1, stdout: "", stderr });
      expect(await target.read()).toStrictEqual([other]);
      await target.execute("DELETE FROM plants");
    }
  });

  /** Does something once, when the copy has come to a phase. */
  async function copyAnd(from: string, to: string, when: CopyPhase, act: () => Promise<unknown>) {
    let acting: Promise<unknown> | undefined;
    return await copyPlants({ from, to }, (phase) => {
      if (phase === when) acting ??= act();
    }).finally(async () => {
      await acting;
      expect(acting).toBeDefined();
    });
  }

  test("a plant that a server creates meanwhile comes with the next run", async () => {
    const { source, target, run } = await placesOf(pair, some);
    const serving = await openStore(source.url);
    onTestFinished(() => serving.close());
    await serving.create(plantOf(1n));
    const late = plantOf(999_999n);
    const { plants } = await copyAnd(source.url, target.url, "copying", () => serving.create(late));
    expect(plants).toBe(some.length + 1);
    expect(await target.read()).toStrictEqual([plantOf(1n), ...some]);
    expect((await run()).stdout).toMatch(verified(some.length + 2));
    expect(await target.read()).toStrictEqual([plantOf(1n), ...some, late]);
  });

  test("is not called verified when somebody changes the target meanwhile", async () => {
    const { source, target } = await placesOf(pair, many);
    await seed(target.url, []);
    for (const [sql, message] of [
      ["DELETE FROM plants WHERE id = 1000", /^plant 1000 is missing in the target/],
      ["UPDATE plants SET tag = '' WHERE id = 1003", /^plant 1003 is another plant in the target/],
      ["INSERT INTO plants (id, name) VALUES (14494, '')", /^plant 14494 is another plant/],
      ["INSERT INTO plants (id, name) VALUES (7, '')", /^the target holds plant 7, which/],
    ] as const) {
      // The last page waits for the change. SQLite's comes at once.
      const rival = pair.to === postgres ? await openRival(target.url, many.at(-1)?.id) : undefined;
      const sabotage = async () => {
        await target.execute(sql);
        await rival?.end();
      };
      await expect(copyAnd(source.url, target.url, "copying", sabotage)).rejects.toThrow(message);
      await target.execute("DELETE FROM plants");
    }
  });
});

const trigger = "CREATE TRIGGER t BEFORE INSERT ON plants BEGIN SELECT raise(ABORT, 't'); END";

test.each([
  ["none takes", "UPDATE plants SET name = 'a' || char(0)", "", "1 .*must not contain U\\+0000"],
  ["the target does not take now", "", trigger, "did not confirm plant 1 .t .SQLITE.* again"],
])("a plant that %s is named", async (_, atSource, atTarget, message) => {
  const { source, target, run } = await placesOf({ from: sqlite, to: sqlite }, [plantOf(1n)]);
  await seed(target.url, []);
  await source.execute(atSource);
  await target.execute(atTarget);
  const stderr = expect.stringMatching(new RegExp(`^plant-store: .*${message}[^\n]*\n$`));
  expect(await run()).toMatchObject({ code: 1, stderr });
  expect(await target.read()).toEqual([]);
});

/** Creates a plant as well, and has not committed yet: its page waits until the rival ends. */
async function openRival(url: string, id = 0n): Promise<pg.Client> {
  const rival = new pg.Client({ connectionString: url.replace(/\?.*/, "") });
  await rival.connect();
  await rival.query(`BEGIN; INSERT INTO plants (id, name) VALUES (${id}, 'rival')`);
  return rival;
}
