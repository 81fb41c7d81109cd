/** Files that are not there, or that this user cannot look at, such as those of another user's service. */
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { backupDatabase } from "../../src/store/sqlite/backup.ts";
import { plantsOf } from "../store/plant-of.ts";
import { seed } from "../store/reader-places.ts";
import { temporaryFolder } from "../store/temporary.ts";
import { openStore } from "../support/open-store.ts";
import { runInProcess } from "../support/run-in-process.ts";
import { readStoredPlants } from "../support/stored-plants.ts";

test.each([
  "check --token-file @/tokens --store sqlite:#",
  "migrate status --store sqlite:#",
  "export --store sqlite:#",
  "backup # --store sqlite:@/a.db",
  "backup @/b.db --store sqlite:#",
  "copy --from sqlite:# --to sqlite:@/b.db",
  "serve --token-file #",
  "token list --token-file #",
])("%s says that it cannot use the file, not that there is none", async (line) => {
  const folder = await temporaryFolder();
  // Nobody can look at it, not even root.
  const hidden = join(folder, "x".repeat(300));
  const args = line.replace("#", hidden).replaceAll("@", folder).split(" ");
  const { code, stdout, stderr } = await runInProcess(args);
  expect(code).toBe(1);
  expect(stdout + stderr).toMatch(/cannot (use|read) \S+x: \w/);
  expect(stdout + stderr).not.toMatch(/there is no|version 0|\n +at /);
  expect(await readdir(folder)).toEqual([]);
});

/** As a server leaves it whose database was moved away. */
async function openLostLog() {
  const folder = await temporaryFolder();
  const path = join(folder, "data", "plants.db");
  const [old, backup, link] = [`${path}.old`, join(folder, "a.db"), join(folder, "link.db")];
  mkdirSync(dirname(path));
  symlinkSync(path, link);
  const store = await openStore(`sqlite:${path}`);
  writeFileSync(backup, "");
  const signal = new AbortController().signal;
  await backupDatabase(path, { file: backup, signal, onProgress() {} });
  await Promise.all(plantsOf(3).map((plant) => store.create(plant)));
  renameSync(path, old);
  await store.close();
  return { folder, path, old, backup, link, log: `${path}-wal` };
}

const opening = [
  "check --token-file @/tokens --store sqlite:#",
  "migrate status --store sqlite:#",
  "migrate up --store sqlite:#",
  "copy --from sqlite:@/b.db --to sqlite:#",
  "serve --port 0 --store sqlite:#",
];
const all = [
  ...opening,
  "export --store sqlite:#",
  "export -o # --force --store sqlite:@/b.db",
  "backup # --force --store sqlite:@/b.db",
  "backup @/c.db --store sqlite:#",
  "copy --from sqlite:# --to sqlite:@/c.db",
];

test.each<[string, readonly string[], (path: string, backup: string) => void]>([
  ["missing", all, () => {}],
  ["empty", all, (path) => writeFileSync(path, "")],
  ["without a log, like a backup", opening, (path, backup) => copyFileSync(backup, path)],
])("a log whose database is %s is kept and named by every command", async (what, lines, lose) => {
  const { folder, path, old, backup, link, log } = await openLostLog();
  await seed(`sqlite:${folder}/b.db`, plantsOf(1));
  lose(path, backup);
  const before = readFileSync(log);
  const env = { PLANT_STORE_TOKENS: "x".repeat(43) };
  for (const line of [path, link].flatMap((file) => lines.map((one) => one.replace("#", file)))) {
    const args = line.replaceAll("@", folder).split(" ");
    const { code, stdout, stderr } = await runInProcess(args, env);
    expect(code, line).toBe(1);
    expect(stdout + stderr, line).toMatch(new RegExp(`${path} is ${what}, but ${log} `));
    expect(readFileSync(log).equals(before), line).toBe(true);
  }
  renameSync(old, path);
  expect(readStoredPlants(path)).toHaveLength(3);
});
