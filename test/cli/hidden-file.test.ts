/** Files that this user cannot look at, such as those of a service that runs as another user. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../store/temporary.ts";
import { runInProcess } from "../support/run-in-process.ts";

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
