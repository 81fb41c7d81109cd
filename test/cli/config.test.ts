/** What `config show` and `config check` say of flags, variables and a file. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createCertificate, hasOpenssl } from "../../packages/gateway/test/support/certificate.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { plantStore } from "../../src/server/settings.ts";
import { runInProcess } from "../support/run-in-process.ts";
import { useOpened } from "../support/use-test-server.ts";

const folder = useOpened(createTemporaryFolder);
const fileOf = () => join(folder.path, "plant-store.yaml");

interface Given {
  readonly yaml?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
}

async function config(command: "show" | "check", { yaml, env, flags = [] }: Given) {
  if (yaml !== undefined) writeFileSync(fileOf(), yaml);
  const config = yaml === undefined ? [] : ["--config", fileOf()];
  const { code, ...text } = await runInProcess(["config", command, ...config, ...flags], env);
  const shorten = (long: string) => long.replaceAll(fileOf(), "FILE");
  return { code, stdout: shorten(text.stdout), stderr: shorten(text.stderr) };
}

/** The value and the origin of a setting, as they are shown. */
function shown(stdout: string, name: string): string {
  const line = stdout.split("\n").find((candidate) => candidate.startsWith(`${name} `)) ?? "";
  return line.slice(name.length).trim().replaceAll(/ {2,}/g, " | ");
}

const store = (url: string): Given => ({ flags: ["--store", url] });

describe("config show", () => {
  test("shows every setting", async () => {
    const { stdout } = await config("show", {});
    expect(stdout.match(/^\S+/gm)).toEqual(plantStore.entries.map(({ name }) => name));
  });

  const variable = { PLANT_STORE_PORT: "2" };
  const words = { yaml: "jwt-issuer: on\njwt-audience: 0x10\njwks-url: https://a/k" };
  test.each<[Given, name: string, expected: string]>([
    [{}, "port", "8080 | default"],
    [{}, "tls-cert", "none | default"],
    [
      { yaml: "cors-origin: [http://a, http://b]" },
      "cors-origin",
      "http://a,http://b | file FILE, line 1",
    ],
    [{ yaml: "# ours\n\nport: 1 # free\n" }, "port", "1 | file FILE, line 3"],
    [{ yaml: "port: 1", env: variable }, "port", "2 | environment PLANT_STORE_PORT"],
    [{ yaml: "port: 1", env: variable, flags: ["--port", "3"] }, "port", "3 | flag --port"],
    [{ yaml: "port: 1", env: { PLANT_STORE_PORT: "" } }, "port", "1 | file FILE, line 1"],
    [{ yaml: "port:\nhost: '::'" }, "port", "8080 | default"],
    [{ yaml: "port:\nhost: '::'" }, "host", ":: | file FILE, line 2"],
    [{ yaml: '{\n  "base-path": "/api",\n  "port": 1\n}\n' }, "port", "1 | file FILE, line 3"],
    [words, "jwt-issuer", "on | file FILE, line 1"],
    [words, "jwt-audience", "0x10 | file FILE, line 2"],
    [{ yaml: "# nothing\n" }, "port", "8080 | default"],
    [{ flags: ["--token-file", "a\nb"] }, "token-file", '"a\\nb" | flag --token-file'],
  ])("%j: %s is %s", async (given, name, expected) => {
    const { code, stdout, stderr } = await config("show", given);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(shown(stdout, name)).toBe(expected);
  });

  const twoHosts = "postgres://u:s%40ecret@a:1,b:2/p";
  const list = "tokens:\n  - a-secret-of-sixteen\n  - the-other-secret-";
  test.each<[name: string, Given, expected: string]>([
    ["store", store("postgres://u:secret@db/p?sslmode=require"), "postgres://u:(hidden)@db/p?sslm"],
    ["store", { yaml: `store: ${twoHosts}` }, "postgres://u:(hidden)@a:1,b:2/p"],
    ["store", store("postgres://u@db:5432/p"), "postgres://u@db:5432/p |"],
    ["store", store("postgres:/u:secret@db/p"), "(hidden) | flag --store"],
    ["store", store("postgres://u:sec/ret@db/p"), "(hidden) |"],
    ["jwks-url", { flags: ["--jwks-url", "https://u:secret@a/k"] }, "(hidden) | flag --jwks-url"],
    ["tokens", { env: { PLANT_STORE_TOKENS: "a-secret-of-sixteen" } }, "(hidden) | environment"],
    ["tokens", { yaml: list }, "(hidden) | file FILE, line 1"],
  ])("keeps the secret of %s in %j", async (name, given, expected) => {
    const { stdout, stderr } = await config("show", given);
    expect(shown(stdout, name)).toContain(expected);
    expect(stdout + stderr).not.toMatch(/s.{0,3}ecret|sec.?ret/);
  });

  test("shows what is wrong, and says so", async () => {
    const { code, stdout, stderr } = await config("show", { yaml: "port: http\n" });
    expect(code).toBe(2);
    expect(shown(stdout, "port")).toBe("http | file FILE, line 1");
    expect(stderr).toContain("port (FILE, line 1): must be a whole number");
  });
});

const tokens = "one-good-token-of-ours,the-other-good-token";

describe("config check", () => {
  test.each<Given>([
    {},
    { env: { PLANT_STORE_TOKENS: tokens } },
    { env: { PLANT_STORE_TOKENS: ` ${tokens.replace(",", " ,\n ")} ` } },
    { yaml: `tokens: ${tokens}\nhost: null\nport: ~` },
    { yaml: "port: nonsense", flags: ["--port", "1"] },
    { flags: ["--port", "1", "--admin-port", "1", "--admin-host", "127.0.0.2"] },
    { flags: ["--port", "0", "--admin-port", "0"] },
    // What Kubernetes sets beside services called plant-store and plant-store-db.
    {
      env: {
        PLANT_STORE_SERVICE_HOST: "10.0.0.1",
        PLANT_STORE_SERVICE_PORT_HTTP: "80",
        PLANT_STORE_PORT: "tcp://10.0.0.1:80",
        PLANT_STORE_PORT_80_TCP: "tcp://10.0.0.1:80",
        PLANT_STORE_PORT_80_TCP_ADDR: "10.0.0.1",
        PLANT_STORE_DB_PORT: "tcp://10.0.0.2:5432",
      },
    },
    // What callers in the same shell have.
    { env: { PLANT_STORE_URL: "http://127.0.0.1:8080", PLANT_STORE_TOKEN: "t" } },
  ])("finds nothing wrong with %j", async (given) => {
    const stdout = "the settings are valid\n";
    expect(await config("check", given)).toEqual({ code: 0, stdout, stderr: "" });
  });

  const noSetting = "is not a setting; did you mean";
  const oneValue = "must be one value";
  const noPort = "must be a whole number from 0 to 65535";
  const samePort = "--admin-port: must not be that of port (FILE, line 1)";
  const required = "is required with jwks-url (FILE, line 1)";
  const alone = "--tls-key: is missing: set both the certificate and its key";
  const notUtf8 = "is not valid UTF-8 (or has U+FFFD); rename what it names";
  const notEncoded = "The encoded data was not valid for encoding utf-8";
  const noFile = "/none cannot be used with the key /none: ENOENT: no such file or directory";

  test.each<[Given, ...problems: string[]]>([
    [{ yaml: "host: a\nprot: 1" }, `prot (FILE, line 2): ${noSetting} port?`],
    [{ yaml: "--port: 1" }, `--port (FILE, line 1): ${noSetting} port?`],
    [{ yaml: "base_path: /a" }, `base_path (FILE, line 1): ${noSetting} base-path?`],
    [{ yaml: "max-body-bytes: 1" }, `max-body-bytes (FILE, line 1): ${noSetting} body-bytes-max?`],
    [{ yaml: "tls:\n  cert: x" }, "tls (FILE, line 1): is not a setting"],
    [{ yaml: "port: {a: 1}" }, `port (FILE, line 1): ${oneValue}`],
    [{ yaml: "jwt-audience: [a, b]" }, `jwt-audience (FILE, line 1): ${oneValue}`],
    [{ yaml: "tokens: [[a]]" }, `tokens (FILE, line 1): ${oneValue} or a list`],
    [{ yaml: "port: 1\nhost: a\nport: 2" }, "FILE, line 3: is not YAML: duplicate key"],
    [{ yaml: "port: 1\n---\nport: 2" }, "FILE, line 2: is not YAML: multiple docs"],
    [{ yaml: "host: !env HOST" }, "FILE, line 1: is not YAML: tag resolve failed"],
    // What it sets may complete the flags.
    [{ yaml: "port: '1", flags: ["--tls-key", "k"] }, "FILE, line 1: is not YAML: missing char"],
    [{ yaml: "- port" }, "FILE, line 1: write NAME: VALUE"],
    [{ yaml: new Uint8Array([0x70, 0xff]) }, `FILE: cannot be read: ${notEncoded}`],
    [{ yaml: `#${"x".repeat(2 ** 20)}` }, "FILE: cannot be read: it has more than 1048576 bytes"],
    [
      { yaml: "tls-cert: /none", env: { PLANT_STORE_TLS_KEY: "/none" } },
      `tls-cert (FILE, line 1): ${noFile}, open '/none'`,
    ],
    [
      { yaml: "store: sqlite:plants.db", env: { PLANT_STORE_REUSE_PORT: "on" } },
      "PLANT_STORE_REUSE_PORT: must be off unless store (FILE, line 1) is PostgreSQL: one process alone serves SQLite",
    ],
    [{ yaml: "jwks-url: https://a/k" }, `--jwt-issuer: ${required}`, `--jwt-audience: ${required}`],
    [
      {
        yaml: "prot: 1\nhost: ''",
        env: { PLANT_STORE_STREAMS_MAX: "two" },
        flags: ["--port", "x", "--tls-key", ""],
      },
      `prot (FILE, line 1): ${noSetting} port?`,
      `--port: ${noPort}: x`,
      "--tls-key: is empty, or has white space at an end",
      "PLANT_STORE_STREAMS_MAX: must be a whole number from 1 to 4096: two",
      "--tls-cert: is missing: set both the certificate and its key",
    ],
    [{ yaml: "port: 9464", flags: ["--admin-port", "9464", "--host", "::"] }, samePort],
    [{ yaml: "port: 9464", flags: ["--admin-port", "9464", "--admin-host", "0.0.0.0"] }, samePort],
    [
      { yaml: "token-file: ./a/../t", flags: ["--store", "SQLite:t"] },
      "token-file (FILE, line 1): must not be the file of --store",
    ],
    [{ env: { PLANT_STORE_CONFIG: "/none" }, flags: ["--config", ""] }, "--config: is empty"],
    [store("sqlite:caf\ufffd.db"), `argument 4 ${notUtf8}`],
    [{ env: { PLANT_STORE_TOKEN_FILE: "caf\ufffd" } }, `PLANT_STORE_TOKEN_FILE: ${notUtf8}`],
    [
      { yaml: "body-budget-bytes: 1207734" },
      "body-budget-bytes (FILE, line 1): must be at least 1207735, for a body of --body-bytes-max",
    ],
    // What is wrong by itself contradicts nothing.
    [{ flags: ["--jwks-url", "x"] }, "--jwks-url: is not an absolute URL"],
    [{ flags: ["--tls-cert", "c", "--reuse-port", "x"] }, "--reuse-port: must be on or off", alone],
  ])("of %j tells all that is wrong", async (given, ...problems) => {
    const stderr = problems.map((line) => `plant-store: ${line}\n`).join("");
    expect(await config("check", given)).toEqual({ code: 2, stdout: "", stderr });
  });

  test("warns of a variable that may be somebody else's", async () => {
    const env = { PLANT_STORE_BACKUP_BUCKET: "b", PLANT_STORE_IMAGE: "" };
    const stderr = "plant-store: PLANT_STORE_BACKUP_BUCKET is not a setting, and is ignored\n";
    expect(await config("check", { env })).toMatchObject({ code: 0, stderr });
  });

  test.skipIf(!hasOpenssl)("takes a certificate and its key", async () => {
    const { certFile, keyFile } = createCertificate(folder.path, "mine");
    const yaml = `tls-cert: ${certFile}\ntls-key: ${keyFile}\n`;
    expect(await config("check", { yaml })).toMatchObject({ code: 0, stderr: "" });
  });

  test("makes nothing, and reads no store", async () => {
    const none = store(`sqlite:${join(folder.path, "none/plants.db")}`);
    expect(await config("check", none)).toMatchObject({ code: 0 });
    expect(existsSync(join(folder.path, "none"))).toBe(false);
  });
});

describe("a file of settings", () => {
  test("is read by commands that use one setting of it, whatever the others are", async () => {
    const tokenFile = join(folder.path, "its-tokens");
    writeFileSync(fileOf(), `token-file: ${tokenFile}\nport: nonsense\n`);
    const env = { PLANT_STORE_CONFIG: "none.yaml" }; // the flag stands before it
    expect((await runInProcess(["token", "create", "me", "--config", fileOf()], env)).code).toBe(0);
    const { stdout } = await runInProcess(["token", "list", "--token-file", tokenFile]);
    expect(stdout).toMatch(/ me\n$/);
  });

  test("is refused by all commands with a key that is no setting", async () => {
    writeFileSync(fileOf(), "tokne-file: x\n");
    const env = { PLANT_STORE_CONFIG: fileOf() };
    for (const args of [["token", "list"], ["migrate", "status"], ["serve"]]) {
      const stderr = expect.stringMatching(/did you mean token-file\?\n$/);
      expect(await runInProcess(args, env)).toMatchObject({ code: 2, stderr });
    }
  });
});
