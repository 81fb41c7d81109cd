/** The very first lines: on a Node that is too old for all others. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { version } from "../../src/server/version.ts";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const packageJson = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
);

const ofVersion = { code: 0, stdout: `${version}\n`, stderr: "" };

interface RunOptions {
  readonly nodeArgs?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/** Runs `plant-store --version`. */
async function runVersion({ nodeArgs = [], env, cwd }: RunOptions) {
  const options = { env: { ...process.env, ...env }, cwd };
  const run = promisify(execFile)(process.execPath, [...nodeArgs, main, "--version"], options);
  return await run.then(
    (output) => ({ code: 0, ...output }),
    (error) => ({ code: error.code, stdout: error.stdout, stderr: error.stderr }),
  );
}

/** Does it on a Node that calls itself so. */
function runOn(node: string) {
  const versions = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${node}" } })`;
  return runVersion({ nodeArgs: importing(versions) });
}

function importing(script: string): string[] {
  return ["--import", `data:text/javascript,${encodeURIComponent(script)}`];
}

describe("plant-store", () => {
  test.each(["20.20.2", "22.22.9", "24.14.1", "25.9.0"])(
    "says on Node %s that it is too old",
    async (node) => {
      expect(packageJson.engines.node).toBe("^22.23.0 || ^24.15.0 || >=26.0.0");
      expect(await runOn(node)).toEqual({
        code: 1,
        stdout: "",
        stderr: `plant-store: needs Node 22.23, 24.15, 26 or later; this is Node ${node}\n`,
      });
    },
  );

  test.each(["22.23.0", "24.15.0", "27.0.0"])("runs on Node %s", async (node) => {
    expect(await runOn(node)).toEqual(ofVersion);
  });

  test("keeps compiled code in the user's cache", async () => {
    await using home = await createTemporaryFolder();
    const env = { NODE_COMPILE_CACHE: undefined, HOME: home.path };
    expect(await runVersion({ env })).toEqual(ofVersion);
    const files = readdirSync(join(home.path, ".cache/plant-store"), { recursive: true });
    expect(files.length).toBeGreaterThan(10);
    expect(await runVersion({ env })).toEqual(ofVersion);
  });

  const unknownUser = `import os from "node:os"; import { syncBuiltinESMExports } from "node:module";
    os.homedir = () => { throw new Error("no such user"); }; syncBuiltinESMExports();`;

  test.each([
    ["is no folder", { HOME: "/dev/null" }],
    ["is not absolute", { HOME: "" }],
    ["nobody knows", {}, importing(unknownUser)],
  ])("runs for a user whose home %s, and keeps nothing", async (_what, home, nodeArgs = []) => {
    await using folder = await createTemporaryFolder();
    const env = { NODE_COMPILE_CACHE: undefined, ...home };
    expect(await runVersion({ env, cwd: folder.path, nodeArgs })).toEqual(ofVersion);
    expect(readdirSync(folder.path)).toEqual([]);
  });
});
