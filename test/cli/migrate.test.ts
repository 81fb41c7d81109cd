/** `plant-store migrate`, on every kind of store; and what a start on PostgreSQL prints. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { spawnServer } from "../support/child-server.ts";
import { password } from "../support/postgres-databases.ts";
import { startPostgres } from "../support/postgres-server.ts";
import { runInProcess } from "../support/run-in-process.ts";
import { postgresKind, storeKinds } from "../support/store-place.ts";

/** As it is shown: without the password, and without settings. */
const shownForm = (url: string) => url.replace(/:[^:@]*@/, "@").replace(/\?.*/, "");

describe.each(storeKinds)("on $store", ({ isMissing, open }) => {
  test.skipIf(isMissing)("tells what is due, brings it up to date, and says so", async () => {
    await using place = await open();
    const shown = shownForm(place.url);
    const due = { code: 0, stdout: `${shown} has schema version 0 of 1: migrations are due\n` };
    const done = { code: 0, stdout: `${shown} has schema version 1 of 1\n` };
    for (const [command, expected] of [
      ["status", due],
      ["status", due],
      ["up", done],
      ["up", done],
      ["status", done],
    ] as const) {
      expect(await runInProcess(["migrate", command, "--store", place.url])).toEqual({
        ...expected,
        stderr: "",
      });
    }
    expect(await place.read()).toEqual([]);
  });
});

test("status refuses the SQLite database of a newer release, or of another program", async () => {
  await using folder = await createTemporaryFolder();
  for (const [pragma, message] of [
    ["user_version = 2", /newer release/],
    ["application_id = 1", /another program/],
  ] as const) {
    const url = `sqlite:${join(folder.path, `${pragma}.db`)}`;
    expect(await runInProcess(["migrate", "up", "--store", url])).toMatchObject({ code: 0 });
    const db = new DatabaseSync(url.slice("sqlite:".length), { timeout: 5000 });
    db.exec(`PRAGMA ${pragma}`);
    db.close();
    for (const command of ["status", "up"]) {
      const result = await runInProcess(["migrate", command, "--store", url]);
      expect(result).toMatchObject({ code: 1, stdout: "" });
      expect(result.stderr).toMatch(message);
    }
  }
});

test.each([
  [["--store", "mysql://u:secret@db"], 2, /no store is called "mysql"/],
  [["--store", "postgres://u:secret@db/a/b"], 2, /cannot use the store URL/],
  [["--store", "postgres://u:secret@127.0.0.1:1/a"], 1, /cannot connect to 127\.0\.0\.1:1/],
])("migrate status %j fails with %i", async (args, code, message) => {
  const result = await runInProcess(["migrate", "status", ...args]);
  expect(result).toMatchObject({ code, stdout: "" });
  expect(result.stderr).toMatch(message);
  expect(result.stderr).not.toMatch(/secret/);
});

describe.skipIf(postgresKind.isMissing)("serve on PostgreSQL", () => {
  test("says where its plants are, without the password", async () => {
    await using folder = await createTemporaryFolder();
    await using server = await startPostgres();
    const url = server.url(await server.createDatabase());
    await using child = await spawnServer({
      cwd: folder.path,
      env: { PLANT_STORE_STORE: url },
    });
    expect(child.stdout.text).toContain(shownForm(url));
    await server.stop("immediate");
    child.process.kill("SIGTERM");
    expect(await child.exited).toEqual({ code: 0, signal: null });
    for (const { text } of [child.stdout, child.stderr]) {
      expect(text).not.toContain(password);
      expect(text).not.toContain(encodeURIComponent(password));
    }
  });
});
