/** The very first lines: on a Node that is too old for all others. */
import { execFile, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { version } from "../../src/server/version.ts";
import { started } from "../support/child.ts";

const { engines } = JSON.parse(readFileSync("package.json", "utf8"));

const ofVersion = { code: 0, stdout: `${version}\n`, stderr: "" };

/** Runs `plant-store --version`. @param script Runs before. */
async function runVersion(script: string, env: NodeJS.ProcessEnv = {}, cwd?: string) {
  const args = ["--import", `data:text/javascript,${encodeURIComponent(script)}`];
  const options = { env: { ...process.env, ...env }, cwd };
  const run = promisify(execFile)(process.execPath, [...args, started, "--version"], options);
  return await run.then(
    (output) => ({ code: 0, ...output }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

const onNode = (node: string) =>
  `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${node}" } });`;

test.each(["20.20.2", "22.22.9", "24.14.9", "25.9.0"])("Node %s is too old", async (node) => {
  expect(engines.node).toBe("^22.23.0 || ^24.15.0 || >=26.0.0");
  const stderr = `plant-store: needs Node 22.23, 24.15, 26 or later; this is Node ${node}\n`;
  expect(await runVersion(onNode(node))).toEqual({ code: 1, stdout: "", stderr });
});

test("compiled code is kept in the user's cache", async () => {
  await using home = await createTemporaryFolder();
  const env = { NODE_COMPILE_CACHE: undefined, HOME: home.path };
  expect(await runVersion("", env)).toEqual(ofVersion);
  const files = readdirSync(join(home.path, ".cache/plant-store"), { recursive: true });
  expect(files.length).toBeGreaterThan(10);
});

const unknownUser = `import os from "node:os"; import { syncBuiltinESMExports } from "node:module";
  os.homedir = () => { throw new Error("no such user"); }; syncBuiltinESMExports();`;

test.each([
  ["22.23.0", "is no folder", "", { HOME: "/dev/null" }],
  ["24.15.0", "is not absolute", "", { HOME: "" }],
  ["27.0.0", "nobody knows", unknownUser, {}],
])("Node %s is new enough, also where a user's home %s", async (node, _what, script, home) => {
  await using folder = await createTemporaryFolder();
  const env = { NODE_COMPILE_CACHE: undefined, ...home };
  expect(await runVersion(script + onNode(node), env, folder.path)).toEqual(ofVersion);
  expect(readdirSync(folder.path)).toEqual([]);
});

const up = 'exec "$0" "$1" migrate up';
const gone = `mkdir a; cd a; rmdir ../a; "$0" "$1" serve --port 0 --token-file /t --store sqlite:/p.db`;

test.skipIf(process.platform !== "linux").each([
  ["not UTF-8, in an argument", 2, /not valid UTF-8/, `${up} --store "sqlite:$ODD/p.db"`],
  ["not UTF-8, in a folder", 2, /not valid UTF-8/, `mkdir "$ODD"; cd "$ODD"; ${up}`],
  ["no more", 1, /(: the working folder was deleted;.+){2}/s, `${gone} || ${up}`],
])("a path that is %s does not name another file", async (_what, code, message, script) => {
  await using folder = await createTemporaryFolder();
  const args = ["-c", `ODD=$(printf 'caf\\351'); ${script}`, process.execPath, started];
  const { status, stderr } = spawnSync("/bin/sh", args, { cwd: folder.path, encoding: "utf8" });
  expect([status, stderr]).toEqual([code, expect.stringMatching(message)]);
  expect(readdirSync(folder.path, { recursive: true }).join()).not.toContain(".db");
});
