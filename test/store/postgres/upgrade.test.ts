/** Two releases on one database: the next one has a migration more, which is made up. */
import { expect, test } from "vitest";
import { migrations } from "../../../src/store/postgres/schema.ts";
import { hasPostgres } from "../../support/postgres-server.ts";
import { sharedServer } from "../../support/shared-postgres.ts";
import { plantOf } from "../plant-of.ts";
import { expectKept } from "../suite.ts";
import { openTestStore, readPlants } from "./fresh.ts";

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
  const database = await sharedServer.current.createDatabase();
  const url = sharedServer.current.url(database);
  const ids = Array.from({ length: 400 }, (_, id) => plantOf(BigInt(id)));
  const take = () => ids.splice(0, 50);
  const old = await openAs([], url);
  const all: Promise<unknown>[] = take().map((plant) => old.create(plant));
  const upgraded = await openAs(next, url);
  for (const store of [old, upgraded]) all.push(...take().map((plant) => store.create(plant)));
  await Promise.all(all);
  await old.close();
  await expectKept(upgraded, plantOf(0n));
  const again = await openAs([], url);
  for (const store of [again, upgraded]) all.push(...take().map((plant) => store.create(plant)));
  await Promise.all(all);
  await upgraded.close();
  await expectKept(again, plantOf(149n));
  expect(await readPlants(sharedServer.current, database)).toHaveLength(250);
});

test.skipIf(!hasPostgres)("a release that is two versions older is rejected", async () => {
  const url = sharedServer.current.url(await sharedServer.current.createDatabase());
  await (await openAs([...next, "../../../../test/store/postgres/made-up-too.sql"], url)).close();
  await expect(openAs([], url)).rejects.toMatchObject({ code: "newer_schema" });
  await (await openAs(next, url)).close();
});
