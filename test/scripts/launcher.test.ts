/** `scripts/node.js`, which npm runs through a shell. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { openRawConnection } from "../../packages/gateway/test/support/raw-connection.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { main } from "../support/child.ts";
import { lockStore } from "../support/locked-store.ts";
import { collectOutput } from "../support/output.ts";
import { basil, plantOverHttp1 } from "../support/plant-request.ts";
import { knownToken } from "../support/test-server.ts";

const launcher = join(import.meta.dirname, "../../scripts/node.js");

test("hands over arguments, output and the exit code", async () => {
  const script = "process.stdout.write(process.argv[1]); process.exit(7)";
  const child = spawn(process.execPath, [launcher, "--eval", script, "é x"]);
  const output = collectOutput(child.stdout);
  expect(await once(child, "close")).toEqual([7, null]);
  expect(output.text).toBe("é x");
});

test.skipIf(process.platform === "win32")(
  "a server whose shell is ended drains, however long that takes",
  async () => {
    await using folder = await createTemporaryFolder();
    const line = `"${process.execPath}" "${launcher}" "${main}" serve --port 0; true`;
    const shell = spawn("sh", ["-c", line], {
      cwd: folder.path,
      env: { ...process.env, PLANT_STORE_TOKENS: knownToken },
    });
    const closed = once(shell, "close");
    const stderr = collectOutput(shell.stderr);
    const [, url] = await collectOutput(shell.stdout).until(/listens on (\S+)/);
    const lock = lockStore(join(folder.path, "data/plants.db"));
    using connection = await openRawConnection(Number(new URL(url ?? "").port));
    connection.write(plantOverHttp1(basil, "Expect: 100-continue"));
    await connection.until("100 Continue", (bytes) => bytes.includes("100 Continue"));
    shell.kill("SIGTERM");
    await stderr.until(/SIGTERM: draining/);
    // A second signal would end the server at once if it came behind the first half second.
    await delay(1000);
    lock.release();
    expect(`${await connection.untilClosed()}`).toContain('{"name":"Basil"}');
    await stderr.until(/stopped/);
    await within("the end of the server", closed);
  },
);
