/** `plant-store token`: create, list and revoke, seen by a server that runs. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../store/temporary.ts";
import { environmentWithoutSettings, nodeOptions, started } from "../support/child.ts";
import { statusOfCreate } from "../support/plant-request.ts";
import { runInProcess } from "../support/run-in-process.ts";
import { openTestServer } from "../support/test-server.ts";

const env = { ...environmentWithoutSettings(), NODE_OPTIONS: nodeOptions({}) };

async function prepare() {
  const file = join(await temporaryFolder(), "a/b/tokens");
  const env = { PLANT_STORE_TOKEN_FILE: file };
  return { file, token: (...args: readonly string[]) => runInProcess(["token", ...args], env) };
}

test("a token that is made is taken by a running server, until it is revoked", async () => {
  const { file, token } = await prepare();
  const stderr = `plant-store: ${file} does not exist\n`;
  expect(await token("list")).toEqual({ code: 0, stdout: "", stderr });
  await using server = await openTestServer({ auth: { tokenFile: file } });
  const created = await token("create", "phone");
  const stdout = expect.stringMatching(/^plst_[\w-]{43}\n$/);
  expect(created).toEqual({ code: 0, stdout, stderr: "" });
  const bearer = created.stdout.trim();
  const status = () => statusOfCreate(server.url, 1, bearer);
  // Nothing tells when a server has read the file but an answer.
  await expect.poll(status).toBe(200);

  const listed = await token("list");
  expect(listed.stdout).toMatch(/^\d{4}-\d\d-\d\dT\S+Z {2}first\n\d{4}-\d\d-\d\dT\S+Z {2}phone\n$/);
  expect(listed.stdout).not.toContain(bearer);
  const asJson = await runInProcess(["token", "list", "--json", "--token-file", file]);
  const both = ["first", "phone"].map((name) => ({ name, createdAt: expect.stringMatching(/Z$/) }));
  expect(JSON.parse(asJson.stdout)).toEqual(both);

  const revoked = { code: 0, stdout: "", stderr: "revoked phone\n" };
  expect(await token("revoke", "phone")).toEqual(revoked);
  await expect.poll(status).toBe(401);
  expect((await token("list")).stdout).toMatch(/^\S+ {2}first\n$/);
});

test.skipIf(process.platform !== "linux").each([
  ["token create first", /^plant-store: cannot print the token, which is now revoked: no .*\n$/],
  ["token list --json", /^plant-store: cannot write standard output: no space left on device\n$/],
  ["token --help", /^plant-store: cannot write standard output: no space left on device\n$/],
])("%s to a full disk fails", async (line, message) => {
  const { file, token } = await prepare();
  const script = `exec "$0" "$1" ${line} --token-file ${file} > /dev/full`;
  const args = ["-c", script, process.execPath, started];
  const { status, stderr } = spawnSync("/bin/sh", args, { env, encoding: "utf8" });
  expect([status, stderr]).toEqual([1, expect.stringMatching(message)]);
  expect((await token("list")).stdout).toBe("");
});

test.skipIf(process.platform !== "linux")("a pipe whose reader has left is no failure", () => {
  const script = '{ "$0" "$1" config show; echo $? >&2; } | true';
  const { stderr } = spawnSync("/bin/sh", ["-c", script, process.execPath, started], { env });
  expect(`${stderr}`).toBe("0\n");
});
