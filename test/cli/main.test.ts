/** The very first lines: on a Node that is too old for all others. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { version } from "../../src/server/version.ts";
import { createTemporaryFolder } from "../support/temporary-folder.ts";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const packageJson = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
);

/** Runs `plant-store --version` on a Node that calls itself so. */
function runOn(node: string) {
  const versions = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${node}" } })`;
  return runVersion(["--import", `data:text/javascript,${encodeURIComponent(versions)}`], {});
}

async function runVersion(nodeArgs: readonly string[], env: NodeJS.ProcessEnv) {
  const options = { env: { ...process.env, ...env } };
  const run = promisify(execFile)(process.execPath, [...nodeArgs, main, "--version"], options);
  return await run.then(
    (output) => ({ code: 0, ...output }),
    (error) => ({ code: error.code, stdout: error.stdout, stderr: error.stderr }),
  );
}

describe("plant-store", () => {
  test.each(["18.0.0", "20.20.2", "22.17.9"])(
    "says on Node %s that it is too old",
    async (node) => {
      const least = packageJson.engines.node.replace(">=", "");
      expect(await runOn(node)).toEqual({
        code: 1,
        stdout: "",
        stderr: `plant-store: needs Node ${least} or later; this is Node ${node}\n`,
      });
    },
  );

  test.each(["22.18.0", "24.0.0", "26.10.0"])("runs on Node %s", async (node) => {
    expect(await runOn(node)).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
  });

  test("keeps compiled code in the user's cache", async () => {
    await using home = await createTemporaryFolder();
    const env = { NODE_COMPILE_CACHE: undefined, HOME: home.path };
    const expected = { code: 0, stdout: `${version}\n`, stderr: "" };
    expect(await runVersion([], env)).toEqual(expected);
    const files = readdirSync(join(home.path, ".cache/plant-store"), { recursive: true });
    expect(files.length).toBeGreaterThan(10);
    expect(await runVersion([], env)).toEqual(expected);
  });

  test("runs where it can keep nothing", async () => {
    const expected = { code: 0, stdout: `${version}\n`, stderr: "" };
    expect(await runVersion([], { NODE_COMPILE_CACHE: undefined, HOME: "/dev/null" })).toEqual(
      expected,
    );
  });
});
