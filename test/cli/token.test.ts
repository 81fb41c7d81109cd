/** `plant-store token`: create, list and revoke, seen by a server that runs. */

import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { rawProtocols } from "../support/protocol/raw.ts";
import { runInProcess } from "../support/run-in-process.ts";
import { openTestServer } from "../support/test-server.ts";

async function codeFor(url: string, token: string): Promise<Code | "ok" | undefined> {
  const [rest] = rawProtocols;
  const outcome = await rest?.send(url, rest.encode({ id: 1n, name: "Basil" }), {
    authorization: `Bearer ${token}`,
  });
  if (outcome === undefined) return undefined;
  return "ok" in outcome ? "ok" : outcome.code;
}

describe("plant-store token", () => {
  test("makes a token that a running server takes, and revokes it", async () => {
    await using folder = await createTemporaryFolder();
    const file = join(folder.path, "tokens");
    await using server = await openTestServer({ auth: { tokenFile: file } });

    const created = await runInProcess(["token", "create", "phone", "--token-file", file]);
    expect(created).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^plst_[\w-]{43}\n$/),
      stderr: "",
    });
    const token = created.stdout.trim();
    // Nothing tells when a server has read the file but an answer.
    await expect.poll(() => codeFor(server.url, token), { timeout: 3000 }).toBe("ok");

    const listed = await runInProcess(["token", "list", "--token-file", file]);
    expect(listed.stdout).toMatch(
      /^\d{4}-\d\d-\d\dT\S+Z {2}first\n\d{4}-\d\d-\d\dT\S+Z {2}phone\n$/,
    );
    expect(listed.stdout).not.toContain(token);
    const asJson = await runInProcess(["token", "list", "--json", "--token-file", file]);
    expect(JSON.parse(asJson.stdout)).toMatchObject([
      { name: "first" },
      { name: "phone", createdAt: expect.stringMatching(/Z$/) },
    ]);

    const revoked = await runInProcess(["token", "revoke", "phone", "--token-file", file]);
    expect(revoked).toEqual({ code: 0, stdout: "", stderr: "revoked phone\n" });
    await expect
      .poll(() => codeFor(server.url, token), { timeout: 3000 })
      .toBe(Code.Unauthenticated);
    const left = await runInProcess(["token", "list", "--token-file", file]);
    expect(left.stdout).toMatch(/^\S+ {2}first\n$/);
  });

  test("takes the file from the environment", async () => {
    await using folder = await createTemporaryFolder();
    const env = { PLANT_STORE_TOKEN_FILE: join(folder.path, "a/b/tokens") };
    expect((await runInProcess(["token", "create", "phone"], env)).code).toBe(0);
    expect((await runInProcess(["token", "list"], env)).stdout).toMatch(/ {2}phone\n$/);
  });

  test("lists nothing where there is no file", async () => {
    await using folder = await createTemporaryFolder();
    const args = ["token", "list", "--token-file", join(folder.path, "none")];
    expect(await runInProcess(args)).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  test.each([
    ["create", "a name with spaces", 2, /a token name has 1 to 64 letters/],
    ["create", "", 2, /a token name has 1 to 64 letters/],
    ["create", "x".repeat(65), 2, /a token name has 1 to 64 letters/],
    ["create", "first", 1, /a token named first already exists/],
    ["revoke", "nobody", 1, /no token is named nobody/],
  ])("%s %j exits with %i and one line", async (verb, name, exitCode, message) => {
    await using folder = await createTemporaryFolder();
    const env = { PLANT_STORE_TOKEN_FILE: join(folder.path, "tokens") };
    await runInProcess(["token", "create", "first"], env);
    const result = await runInProcess(["token", verb, name], env);
    expect(result).toEqual({ code: exitCode, stdout: "", stderr: expect.stringMatching(message) });
    expect(result.stderr).toMatch(/^plant-store: [^\n]+\n$/);
  });
});
