/** `plant-store serve`, as a process: what it prints, whom it lets in, how it ends. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Code } from "@connectrpc/connect";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { exchange } from "../../packages/gateway/test/support/http-exchange.ts";
import {
  createTemporaryFolder,
  type TemporaryFolder,
} from "../../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { createServiceManager } from "../../packages/proxy/test/support/service-manager.ts";
import { tokenCommand } from "../../src/server/token-command.ts";
import { hasTerminal, runChild, spawnChild } from "../support/child.ts";
import { type ChildServer, spawnServer } from "../support/child-server.ts";
import { refusalOf } from "../support/protocol/protocol.ts";
import { rawProtocols } from "../support/protocol/raw.ts";
import { readStoredPlants, storedForm } from "../support/stored-plants.ts";
import { knownToken } from "../support/test-server.ts";

const run = promisify(execFile);
const repository = fileURLToPath(new URL("../..", import.meta.url));

const onTerminal = { terminal: true, stdin: "open" } as const;

/** The environment of somebody who has set nothing. */
const noTokens = { PLANT_STORE_TOKENS: "" };

const hasCurl = await run("curl", ["--version"]).then(
  () => true,
  () => false,
);

/** The command that a start prints, ready to paste: from its name to the empty line. */
function pasted(stdout: string, command: string): string {
  const [, text] = new RegExp(`^ +(${command} (?:.|\\n)*?)\\n\\n`, "m").exec(stdout) ?? [];
  if (text === undefined) throw new Error(`no ${command} in: ${stdout}`);
  return text;
}

/** What a curl line asks for, on a machine that has none. */
async function fetchLike(line: string): Promise<string> {
  const [, url = ""] = /curl -X POST (\S+)/.exec(line) ?? [];
  const [, body = ""] = /-d '(.*)'/.exec(line) ?? [];
  const headers = [...line.matchAll(/-H "(.+?): (.+?)"/g)].map(
    ([, name = "", value = ""]): [string, string] => [name, value],
  );
  return await (await fetch(url, { method: "POST", headers, body })).text();
}

async function create(url: string, id: bigint, token: string): Promise<Code | "ok"> {
  const [rest] = rawProtocols;
  const outcome = await rest?.send(url, rest.encode({ id, name: "Basil" }), {
    authorization: `Bearer ${token}`,
  });
  if (outcome === undefined) throw new Error("no protocols");
  return "ok" in outcome ? "ok" : refusalOf(outcome).code;
}

describe.skipIf(!hasTerminal)("the first start, on a terminal", () => {
  let folder: TemporaryFolder;
  let server: ChildServer;

  beforeAll(async () => {
    folder = await createTemporaryFolder();
    server = await spawnServer({ ...{ cwd: folder.path, env: noTokens }, ...onTerminal });
    return async () => {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    };
  });

  test("tells where what is kept, and nothing else", () => {
    const { text } = server.stdout;
    expect(text).toContain(`POST ${server.url}/plants`);
    expect(text).toContain(`${server.url}/plantstore.v1.PlantService/CreatePlant`);
    expect(text).toContain("sqlite:./data/plants.db");
    expect(text).toContain("./data/tokens");
    expect(text).toContain(`open ${server.url} in a browser`);
    expect(text).toContain(`${server.url}/docs`);
    expect(text).toContain("The token is shown only this time.");
    expect(server.stdout.text).not.toMatch(/^\S*(warn|\{)/im);
  });

  test.each(["once", "twice"])("prints a curl line that works when pasted %s", async () => {
    const line = pasted(server.stdout.text, "curl");
    if (hasCurl) {
      const { stdout } = await run("sh", ["-c", `${line} --silent --write-out ' %{http_code}'`]);
      expect(stdout).toBe('{"name":"Basil","tag":"herb"} 200');
      // The same, over HTTP/2 on the same port.
      const http2 = await run("sh", ["-c", `${line} --silent --http2-prior-knowledge`]);
      expect(http2.stdout).toBe('{"name":"Basil","tag":"herb"}');
    } else {
      expect(await fetchLike(line)).toBe('{"name":"Basil","tag":"herb"}');
    }
    expect(readStoredPlants(join(folder.path, "data/plants.db"))).toEqual([
      storedForm({ id: 1n, name: "Basil", tag: "herb" }),
    ]);
  });

  test("prints a buf curl line that works in any folder", async () => {
    const npx = "npx @bufbuild/buf";
    const buf = join(repository, "node_modules/.bin/buf");
    const line = pasted(server.stdout.text, npx).replace(npx, buf);
    const { stdout } = await run("sh", ["-c", line], { cwd: folder.path });
    expect(JSON.parse(stdout)).toEqual({ plant: { name: "Basil", tag: "herb" } });
  });

  test("keeps no token anywhere: not in its folder, not in a later line", async () => {
    const [token = ""] = /plst_[\w-]{43}/.exec(server.stdout.text) ?? [];
    expect(await create(server.url, 11n, token)).toBe("ok");
    expect(await create(server.url, 12n, `${token}x`)).toBe(Code.Unauthenticated);
    server.process.stdin?.write("\x03");
    await within("the end", server.exited);
    expect(server.stdout.text.split(token)).toHaveLength(3);
    const files = await readdir(join(folder.path, "data"));
    expect(files).toContain("tokens");
    for (const file of files) {
      const bytes = await readFile(join(folder.path, "data", file));
      expect(bytes.includes(token)).toBe(false);
      expect(bytes.includes(token.slice("plst_".length))).toBe(false);
    }
    if (process.platform !== "win32") {
      const { mode } = await stat(join(folder.path, "data/tokens"));
      expect((mode & 0o777).toString(8)).toBe("600");
    }
  });
});

describe("a first start", () => {
  test("that fails leaves the token to the start that succeeds", async () => {
    await using folder = await createTemporaryFolder();
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    const failed = await runChild(["serve", "--port", String(port)], { cwd: folder.path });
    other.close();
    expect(failed.code).toBe(1);
    const options = { cwd: folder.path, env: noTokens, terminal: hasTerminal, stdin: "open" };
    await using server = await spawnServer(options);
    if (hasTerminal) expect(server.stdout.text).toMatch(/Bearer plst_/);
  });

  test("without a terminal creates no token, and says how to", async () => {
    const args = ["--token-file", "it's here/tokens"];
    await using server = await spawnServer({ env: noTokens, args });
    expect(server.stdout.text).not.toMatch(/plst_/);
    const command = "plant-store token create --token-file 'it'\\''s here/tokens'";
    expect(server.stdout.text).toContain(`$(${command} "me-$(date +%s)")`);
    const [line = ""] = await server.stderr.until(/^.*\n/);
    const message = `no token is valid yet. Create one: ${command} NAME`;
    expect(JSON.parse(line)).toMatchObject({ level: "warn", msg: message });
    const created = await runChild(["token", "create", "me", ...args], { cwd: server.cwd });
    expect(created.stderr).toMatch(
      /^plant-store: created \/.*it's here\/tokens; the token is valid/,
    );
    await expect.poll(() => create(server.url, 1n, created.stdout.trim())).toBe("ok");
  });

  test("on every address names one that listens, and warns of plaintext", async () => {
    await using server = await spawnServer({ args: ["--host", "0.0.0.0"] });
    const banner = /listens on http:\/\/127\.0\.0\.1:\d+ \(0\.0\.0\.0: every address/;
    expect(server.stdout.text).toMatch(banner);
    await server.stderr.until(/0\.0\.0\.0 is served without TLS/);
  });

  test("with --log-format json prints JSON alone, with an event", async () => {
    await using folder = await createTemporaryFolder();
    const args = ["serve", "--port", "0", "--log-format", "json"];
    await using server = spawnChild(args, { cwd: folder.path, env: noTokens });
    const [first = ""] = await server.stderr.until(/^.*\n.*no token is valid yet.*\n/);
    expect(
      first
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      {
        ...{
          level: "info",
          event: "listening",
          host: "127.0.0.1",
          store: "sqlite:./data/plants.db",
        },
        address: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
        protocols: ["rest", "grpc", "grpc-web", "connect"],
      },
      { level: "warn" },
    ]);
    expect(server.stdout.text).toBe("");
  });
});

describe.skipIf(!hasTerminal)("a later start", () => {
  test("shows no token, says how to make another, and lets the first one in", async () => {
    await using folder = await createTemporaryFolder();
    let token = "";
    {
      const options = { cwd: folder.path, env: noTokens };
      await using first = await spawnServer({ ...options, ...onTerminal });
      [token = ""] = /plst_[\w-]+/.exec(first.stdout.text) ?? [];
      first.process.stdin?.write("\x03");
      await within("the end", first.exited);
    }
    await using second = await spawnServer({ cwd: folder.path, env: noTokens });
    expect(second.stdout.text).not.toMatch(/plst_/);
    expect(second.stdout.text).toContain(
      'export TOKEN=$(plant-store token create "me-$(date +%s)")',
    );
    expect(await create(second.url, 1n, token)).toBe("ok");
    if (hasCurl) {
      const line = pasted(second.stdout.text, "curl");
      const env = { ...process.env, TOKEN: token };
      const { stdout } = await run("sh", ["-c", `${line} --silent`], { env });
      expect(stdout).toContain('"error":6');
    }
  });
});

describe("PLANT_STORE_TOKENS", () => {
  test("lets its tokens in, and no token is made", async () => {
    const env = { PLANT_STORE_TOKENS: ` ${knownToken} , the-other-token-I-know ` };
    await using server = await spawnServer({ env });
    expect(server.stdout.text).not.toMatch(/plst_/);
    expect(server.stdout.text).not.toContain(knownToken);
    expect(await create(server.url, 1n, knownToken)).toBe("ok");
    expect(await create(server.url, 2n, "the-other-token-I-know")).toBe("ok");
    expect(await create(server.url, 3n, "a-token-nobody-knows")).toBe(Code.Unauthenticated);
    expect(await readdir(join(server.cwd, "data"))).not.toContain("tokens");
  });
});

describe("the environment", () => {
  test("sets what no flag sets, and flags win", async () => {
    await using server = await spawnServer({
      env: {
        PLANT_STORE_PORT: "1",
        PLANT_STORE_BASE_PATH: "/from-env",
        PLANT_STORE_STORE: "sqlite:./other/kept.db",
        PLANT_STORE_BODY_BYTES_MAX: "100",
        PLANT_STORE_TOKEN_FILE: "./elsewhere/tokens",
        PLANT_STORE_IDLE_TIMEOUT_MS: "5000",
      },
      args: ["--base-path", "/from-flag", "--token-file", "./here/tokens"],
    });
    expect(server.port).not.toBe(1);
    expect(new URL(server.url).pathname).toBe("/from-flag");
    expect(server.stdout.text).toContain("./here/tokens");
    expect(await create(server.url, 1n, knownToken)).toBe("ok");
    expect(readStoredPlants(join(server.cwd, "other/kept.db"))).toHaveLength(1);
    const response = await exchange({
      origin: new URL(server.url).origin,
      version: "1.1",
      path: "/from-flag/plants",
      headers: { authorization: `Bearer ${knownToken}`, "content-type": "application/json" },
      body: `{"id":2,"name":"${"x".repeat(100)}"}`,
    });
    expect(response.status).toBe(413);
  });
});

describe("systemd", () => {
  test("is told once calls are served", async () => {
    await using folder = await createTemporaryFolder();
    const manager = await createServiceManager(folder.path);
    await using _server = await spawnServer({ cwd: folder.path, env: manager.env });
    expect(await within("its word", manager.told())).toBe("/run/systemd/notify --ready\n");
  });

  test("that cannot be told is no reason to end", async () => {
    await using folder = await createTemporaryFolder();
    const env = { PATH: folder.path, NOTIFY_SOCKET: "/run/systemd/notify" };
    await using server = await spawnServer({ cwd: folder.path, env });
    await server.stderr.until(/systemd was not told of the start/);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });
});

describe("a port that is in use", () => {
  test("ends the start with 1 and one line that says what to do", async () => {
    await using server = await spawnServer();
    const store = ["--store", "sqlite:./second.db"];
    const args = ["serve", "--port", String(server.port), ...store];
    const result = await runChild(args, {
      cwd: server.cwd,
      env: { PLANT_STORE_TOKENS: knownToken },
    });
    expect(result).toEqual({
      code: 1,
      stdout: "",
      stderr: `plant-store: 127.0.0.1 port ${server.port} is in use; choose another with --port, or 0 for any free one\n`,
    });
  });
});

describe("a store that another server has open", () => {
  test("is still correct: both serve, and each sees what the other wrote", async () => {
    await using one = await spawnServer();
    await using two = await spawnServer({ cwd: one.cwd });
    expect(await create(one.url, 1n, knownToken)).toBe("ok");
    expect(await create(two.url, 1n, knownToken)).toBe("ok");
    const [rest] = rawProtocols;
    const outcome = await rest?.send(two.url, rest.encode({ id: 1n, name: "Mint" }));
    expect(outcome).toMatchObject({ code: Code.AlreadyExists });
  });
});

describe("a store that fails while it runs", () => {
  test("ends the process with 1, after a drain", async () => {
    await using server = await spawnServer();
    const { database } = server;
    await rename(database, `${database}.old`);
    await writeFile(database, "");
    expect(await create(server.url, 1n, knownToken)).toBe(Code.Unavailable);
    expect(await within("the end", server.exited)).toEqual({ code: 1, signal: null });
    expect(server.stderr.text).toMatch(/"level":"error".*"the service has failed: draining"/);
  });
});

describe("the command that makes another token is written as it works", () => {
  afterEach(() => void vi.unstubAllEnvs());

  test.each<[how: string, event?: string, packageName?: string | undefined, program?: string]>([
    ["directly"],
    ["by npm in a checkout", "start", "plant-store", "npm run -s plant-store --"],
    ["by npx", "npx", undefined, "npx --no -- plant-store"],
    ["by a script of another package", "start", "garden", "npx --no -- plant-store"],
  ])("started %s", (_how, event, packageName, program = "plant-store") => {
    vi.stubEnv("npm_lifecycle_event", event);
    vi.stubEnv("npm_package_name", packageName);
    expect(tokenCommand(undefined)).toBe(`${program} token create`);
  });

  test("and without reflection, the buf curl line names the proto", async () => {
    await using server = await spawnServer({ env: { PLANT_STORE_REFLECTION: "off" } });
    expect(pasted(server.stdout.text, "npx @bufbuild/buf")).toContain("curl --schema proto ");
  });
});
