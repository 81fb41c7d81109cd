/** `plant-store serve`, as a process: what it prints, whom it lets in, how it ends. */
import { execFile, spawnSync } from "node:child_process";
import { readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { createServiceManager } from "../../packages/kit/test/support/service-manager.ts";
import { hasTerminal, runChild, spawnChild } from "../support/child.ts";
import { spawnServer } from "../support/child-server.ts";
import { statusOfCreate } from "../support/plant-request.ts";
import { runInProcess } from "../support/run-in-process.ts";
import { readStoredPlants, storedForm } from "../support/stored-plants.ts";
import { knownToken } from "../support/test-server.ts";
import { useOpened } from "../support/use-test-server.ts";

const run = promisify(execFile);

/** The environment of somebody who has set nothing. */
const noTokens = { PLANT_STORE_TOKENS: "" };

/** Of a script of another package. */
const byNpm = { npm_lifecycle_event: "start", npm_package_name: "garden" };

const hasCurl = spawnSync("curl", ["--version"]).status === 0;

/** The command that a start prints, ready to paste: from its name to the empty line. */
function pasted(stdout: string, command: string): string {
  const [, text] = new RegExp(`^ +(${command} (?:.|\\n)*?)\\n\\n`, "m").exec(stdout) ?? [];
  if (text === undefined) throw new Error(`no ${command} in: ${stdout}`);
  return text;
}

async function shell(line: string, options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
  return (await run("sh", ["-c", line], options)).stdout;
}

describe.skipIf(!hasTerminal)("the first start, on a terminal", () => {
  const folder = useOpened(createTemporaryFolder);
  const server = useOpened(async () => {
    // A start that fails leaves the token to this one.
    const data = join(folder.path, "data");
    const kept = ["--store", `sqlite:${data}/plants.db`, "--token-file", `${data}/tokens`];
    const failed = await runInProcess(["serve", "--host", "192.0.2.1", ...kept]);
    expect(failed).toMatchObject({ code: 1, stdout: "" });
    return await spawnServer({ cwd: folder.path, env: noTokens, terminal: true, stdin: "open" });
  });

  test("tells where what is kept, and nothing else", () => {
    const { text } = server.stdout;
    // The store was made by the start that failed.
    for (const place of ["sqlite:./data/plants.db\n", "./data/tokens", `${server.url}/docs`])
      expect(text).toContain(place);
    expect(text).not.toMatch(/^\S*(warn|\{)/im);
  });

  test.skipIf(!hasCurl)("prints a curl line that works when pasted, also twice", async () => {
    const line = `${pasted(server.stdout.text, "curl")} --silent`;
    const basil = '{"name":"Basil","tag":"herb"}';
    expect(await shell(`${line} --write-out ' %{http_code}'`)).toBe(`${basil} 200`);
    // The same, over HTTP/2 on the same port.
    expect(await shell(`${line} --http2-prior-knowledge`)).toBe(basil);
    expect(readStoredPlants(join(folder.path, "data/plants.db"))).toEqual([
      storedForm({ id: 1n, name: "Basil", tag: "herb" }),
    ]);
  });

  test("prints a buf curl line that works in any folder", async () => {
    const npx = "npx @bufbuild/buf";
    const line = pasted(server.stdout.text, npx).replace(npx, resolve("node_modules/.bin/buf"));
    const answer = await shell(line, { cwd: folder.path });
    expect(JSON.parse(answer)).toEqual({ plant: { name: "Basil", tag: "herb" } });
  });

  test("keeps its token nowhere: not in its folder, not in a later line", async () => {
    const [token = ""] = /plst_[\w-]{43}/.exec(server.stdout.text) ?? [];
    expect(await statusOfCreate(server.url, 11, token)).toBe(200);
    expect(await statusOfCreate(server.url, 12, `${token}x`)).toBe(401);
    server.process.stdin?.write("\x03");
    await within("the end", server.exited);
    expect(server.stdout.text.split(token)).toHaveLength(3);
    const data = join(folder.path, "data");
    const files = await readdir(data);
    expect(files).toContain("tokens");
    for (const file of files) {
      expect((await readFile(join(data, file))).includes(token.slice("plst_".length))).toBe(false);
    }
    expect((await stat(join(data, "tokens"))).mode & 0o777).toBe(0o600);

    // A later start says how to make another, and lets the first one in.
    // A systemd that cannot be told is no reason to end.
    const untold = { ...noTokens, PATH: join(folder.path, "none"), NOTIFY_SOCKET: "/none" };
    await using later = await spawnServer({ cwd: folder.path, env: untold });
    await later.stderr.until(/systemd was not told of the start/);
    const { text } = later.stdout;
    expect(text).not.toMatch(/plst_/);
    expect(text).toContain('export TOKEN=$(plant-store token create "me-$(date +%s)")');
    expect(await statusOfCreate(later.url, 11, token)).toBe(200);
    if (!hasCurl) return;
    const env = { ...process.env, TOKEN: token };
    const line = pasted(text, "curl").replace("Basil", "Mint");
    expect(await shell(`${line} --silent`, { env })).toContain('"error":6');
  });
});

describe("a first start", () => {
  test("without a terminal creates no token, and says how to", async () => {
    const args = ["--token-file", "it's here/tokens", "--mcp"];
    await using server = await spawnServer({ env: { ...noTokens, ...byNpm }, args });
    expect(server.stdout.text).toContain("sqlite:./data/plants.db (created now)\n");
    expect(server.stdout.text).toContain(` ${server.url}/mcp\n`);
    expect(server.stdout.text).not.toMatch(/plst_/);
    const by = "npx --no -- plant-store";
    const command = `${by} token create --token-file 'it'\\''s here/tokens'`;
    expect(server.stdout.text).toContain(`$(${command} "me-$(date +%s)")`);
    const [line = ""] = await server.stderr.until(/^.*\n/);
    const message = `no token is valid yet. Create one: ${command} NAME`;
    expect(JSON.parse(line)).toMatchObject({ level: "warn", msg: message });
    const tokenFile = join(server.cwd, "it's here/tokens");
    const created = await runInProcess(["token", "create", "me", "--token-file", tokenFile]);
    expect(created.stderr).toContain(`plant-store: created ${tokenFile}; the token is valid`);
    await expect.poll(() => statusOfCreate(server.url, 1, created.stdout.trim())).toBe(200);
  });

  test("with --log-format json prints JSON alone, with an event", async () => {
    await using folder = await createTemporaryFolder();
    const args = ["serve", "--port", "0", "--log-format", "json"];
    await using server = spawnChild(args, { cwd: folder.path, env: noTokens });
    const [first = ""] = await server.stderr.until(/^.*\n.*no token is valid yet.*\n/);
    const lines = first.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        ...{ level: "info", event: "listening", host: "127.0.0.1" },
        store: "sqlite:./data/plants.db",
        isNewStore: true,
        address: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
        protocols: ["rest", "grpc", "grpc-web", "connect"],
      },
      { level: "warn" },
    ]);
    expect(server.stdout.text).toBe("");
  });
});

test("a start that cannot be told ends the process", async () => {
  await using folder = await createTemporaryFolder();
  const mute = "data:text/javascript,process.stdout.write=()=>{throw/**/Error('mute')}";
  const options = { cwd: folder.path, env: { NODE_OPTIONS: `--import=${mute}` } };
  const ended = await runChild(["serve", "--port", "0"], options);
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining("mute") });
});

describe("with tokens from outside", () => {
  const folder = useOpened(createTemporaryFolder);
  let told: () => Promise<string>;
  const server = useOpened(async () => {
    const manager = await createServiceManager(folder.path);
    told = manager.told;
    const tokens = ` ${knownToken} , the-other-token-I-know `;
    const env = { ...manager.env, PLANT_STORE_TOKENS: tokens };
    return await spawnServer({ cwd: folder.path, env });
  });

  test("systemd is told once calls are served", async () => {
    expect(await within("its word", told())).toBe("/run/systemd/notify --ready\n");
  });

  test("they are let in, and no token is made", async () => {
    expect(server.stdout.text).not.toMatch(/plst_/);
    expect(server.stdout.text).not.toContain(knownToken);
    expect(await statusOfCreate(server.url, 1)).toBe(200);
    expect(await statusOfCreate(server.url, 2, "the-other-token-I-know")).toBe(200);
    expect(await statusOfCreate(server.url, 3, "a-token-nobody-knows")).toBe(401);
    expect(await readdir(join(server.cwd, "data"))).not.toContain("tokens");
  });
});

test.each(["failed: draining", "failed"])("a store has %s: both end with 1", async (said) => {
  await using server = await spawnServer();
  const { cwd, database } = server;
  await using mcp = spawnChild(["mcp"], { cwd, stdin: "open" });
  mcp.process.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  await mcp.stdout.until(/"result"/);
  await rename(database, `${database}.old`);
  await writeFile(database, "");
  if (said === "failed") for (const { process } of [server, mcp]) process.kill();
  else expect(await statusOfCreate(server.url, 5)).toBe(503);
  for (const { exited } of [server, mcp])
    expect(await within("the end", exited)).toEqual({ code: 1, signal: null });
  expect(server.stderr.text).toMatch(new RegExp(`"level":"error".*"the service has ${said}"`));
});

describe("the environment", () => {
  const env = { PLANT_STORE_PORT: "1", PLANT_STORE_BASE_PATH: "/env", PLANT_STORE_HOST: "0.0.0.0" };
  const args = ["--base-path", "/from-flag", "--reflection", "off"];
  const server = useOpened(() => spawnServer({ env, args }));

  test("with every address, one that listens is named, and plaintext is warned of", async () => {
    const banner = /listens on http:\/\/127\.0\.0\.1:\d+\/from-flag \(0\.0\.0\.0: every address/;
    expect(server.stdout.text).toMatch(banner);
    await server.stderr.until(/0\.0\.0\.0 is served without TLS/);
  });

  test("without reflection, the buf curl line names the proto", () => {
    expect(pasted(server.stdout.text, "npx @bufbuild/buf")).toContain("curl --schema proto ");
  });
});
