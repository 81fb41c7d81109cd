/** Two releases on one database: the next one has a migration more, which is made up. */
import { expect, test } from "vitest";
import type { PlantStore } from "../../../src/plant.ts";
import { migrations } from "../../../src/store/postgres/schema.ts";
import { hasPostgres } from "../../support/postgres-server.ts";
import { sharedServer } from "../../support/shared-postgres.ts";
import { plantOf, plantsOf } from "../plant-of.ts";
import { expectKept } from "../suite.ts";
import { openDatabase, openTestStore } from "./fresh.ts";

const list: string[] = migrations as unknown as string[];

/** Opens a store as a release would that has these migrations beyond those of this one. */
async function openAs(release: readonly string[], url: string) {
  list.push(...release);
  try {
    return await openTestStore(url);
  } finally {
    list.length -= release.length;
  }
}

const next = ["../../../../test/store/postgres/made-up.sql"];

test.skipIf(!hasPostgres)("a rolling upgrade, and back", async () => {
  const { url, kept } = await openDatabase(sharedServer.current);
  const all: Promise<unknown>[] = [];
  const createFifty = (store: PlantStore) =>
    all.push(...plantsOf(50, all.length).map((plant) => store.create(plant)));
  const old = await openAs([], url);
  createFifty(old);
  const upgraded = await openAs(next, url);
  for (const store of [old, upgraded]) createFifty(store);
  await Promise.all(all);
  await old.close();
  await expectKept(upgraded, plantOf(0));
  const again = await openAs([], url);
  for (const store of [again, upgraded]) createFifty(store);
  await Promise.all(all);
  await upgraded.close();
  await expectKept(again, plantOf(149));
  expect(await kept()).toEqual(plantsOf(250));
});

test.skipIf(!hasPostgres)("a release that is two versions older is rejected", async () => {
  const { url } = await openDatabase(sharedServer.current);
  await (await openAs([...next, "../../../../test/store/postgres/made-up-too.sql"], url)).close();
  await expect(openAs([], url)).rejects.toMatchObject({ code: "newer_schema" });
  await (await openAs(next, url)).close();
});
