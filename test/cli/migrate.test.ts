/** `plant-store migrate`, on every kind of store; and what a start on PostgreSQL prints. */
import { describe, expect, test } from "vitest";
import { migrations } from "../../src/store/sqlite/schema.ts";
import { spawnServer } from "../support/child-server.ts";
import { password } from "../support/postgres-databases.ts";
import { runInProcess } from "../support/run-in-process.ts";
import { postgresKind, storeKinds } from "../support/store-place.ts";

/** Of every engine. */
const latest = migrations.length;

/** As it is shown: without the password, and without settings. */
const shownForm = (url: string) => url.replace(/:[^:@]*@/, "@").replace(/\?.*/, "");

describe.each(storeKinds)("on $store", ({ isMissing, open }) => {
  test.skipIf(isMissing)("tells what is due, brings it up to date, and says so", async () => {
    await using place = await open();
    const shown = shownForm(place.url);
    const at = (version: number) => `${shown} has schema version ${version} of ${latest}`;
    for (const [command, text] of [
      ["status", `${at(0)}: migrations are due`],
      ["status", `${at(0)}: migrations are due`],
      ["up", at(latest)],
      ["up", at(latest)],
      ["status", at(latest)],
    ] as const) {
      const result = await runInProcess(["migrate", command, "--store", place.url]);
      expect(result).toEqual({ code: 0, stdout: `${text}\n`, stderr: "" });
    }
    expect(await place.read()).toEqual([]);
  });
});

test.skipIf(postgresKind.isMissing)("serve says where plants are, without password", async () => {
  const place = await postgresKind.open();
  await using child = await spawnServer({ env: { PLANT_STORE_STORE: place.url } });
  expect(child.stdout.text).toContain(shownForm(place.url));
  // The server loses its connections.
  await place[Symbol.asyncDispose]();
  child.process.kill("SIGTERM");
  expect(await child.exited).toEqual({ code: 0, signal: null });
  const written = child.stdout.text + child.stderr.text;
  expect(written).not.toContain(password);
  expect(written).not.toContain(encodeURIComponent(password));
});
