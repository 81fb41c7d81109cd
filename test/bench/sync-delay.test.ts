import { execFileSync, spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { createSyncDelay } from "../../bench/sync-delay.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";

const hasCompiler = process.platform === "linux" && spawnSync("gcc", ["--version"]).status === 0;

/** Prints how long a call takes, in milliseconds, and the error of the same call on no file. */
const script = `
  const fs = require("node:fs");
  const call = process.argv[1];
  const fd = fs.openSync(process.argv[2], "w");
  const start = performance.now();
  fs[call](fd);
  const ms = performance.now() - start;
  fs.closeSync(fd);
  try { fs[call](fd) } catch ({ code }) { console.log(JSON.stringify({ ms, code })) }`;

test.skipIf(!hasCompiler).each(["fsyncSync", "fdatasyncSync"])(
  "%s takes as much longer as it was told, and fails as before",
  async (call) => {
    await using folder = await createTemporaryFolder();
    const delay = createSyncDelay(100, folder.path);
    const output = execFileSync(process.execPath, ["-e", script, call, `${folder.path}/file`], {
      env: { ...process.env, ...delay },
      encoding: "utf8",
    });
    const { ms, code } = JSON.parse(output);
    expect(ms).toBeGreaterThanOrEqual(100);
    expect(code).toBe("EBADF");
  },
);
