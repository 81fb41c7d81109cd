/**
 * A setting that is wrong stops the start: one line on stderr that names it, and exit code 2. What is
 * wrong for each: settings.test.ts of the server, setting.test.ts of the proxy, and of the stores.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { createCertificate, hasOpenssl } from "../../packages/gateway/test/support/certificate.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { runInProcess } from "../support/run-in-process.ts";

let folder: string;

beforeAll(async () => {
  const temporary = await createTemporaryFolder();
  folder = temporary.path;
  writeFileSync(join(folder, "garbage"), "not a certificate\n");
  writeFileSync(join(folder, "bad-tokens"), "this is no token file\n");
  // A start that succeeds by mistake leaves its files here.
  const before = process.cwd();
  process.chdir(folder);
  return async () => {
    process.chdir(before);
    await temporary[Symbol.asyncDispose]();
  };
});

/** Nothing of the machine: in the folder of the test, on a free port. */
function serve(...args: readonly string[]): readonly string[] {
  const inFolder = (path: string) => path.replace("@/", `${folder}/`);
  const safe = ["--port", "0", "--store", "sqlite:@/plants.db", "--token-file", "@/tokens"];
  return ["serve", ...safe, ...args].map(inFolder);
}

const whole = "must be a whole number";

describe("a wrong flag", () => {
  test.each([
    [["--port", "http"], /--port.*whole number/],
    [["--port", "65536"], /--port: must be a whole number from 0 to 65535: 65536/],
    [["--admin-port", "65536"], /--admin-port: must be a whole number from 0 to 65535: 65536/],
    [["--admin-host", ""], /--admin-host: must not be empty/],
    [["--reuse-port", "on"], /--reuse-port: must be off/],
    [["--host", ""], /--host: must not be empty/],
    [["--base-path", "api"], /--base-path: must look like \/api/],
    [["--page", "no"], /--page: must be on or off/],
    [["--store", "plants.db"], /store URL has no scheme/],
    [["--store", "mysql://u:secret@db/plants"], /no store is called "mysql"/],
    [["--store", "postgres://u:sec#ret@db/plants"], /cannot use the store URL: write postgres/],
    [
      ["--store", "postgres://u:p@db/plants?sslmode=prefer"],
      /--store: sslmode: must be disable, require or/,
    ],
    [["--token-file", ""], /token-file: is empty/],
    [["--tls-cert", "@/garbage"], /--tls-key: is missing/],
    [["--tls-key", "@/garbage"], /--tls-cert: is missing/],
    [["--tls-cert", "@/garbage", "--tls-key", "@/garbage"], /--tls-cert: .*garbage cannot be used/],
    [["--tls-cert", "@/none", "--tls-key", "@/none"], /--tls-cert: .*ENOENT/],
    [["--tls-client-ca", "@/garbage"], /--tls-client-ca: does nothing without TLS: set --tls-cert/],
    [["--jwt-issuer", "https://issuer.example"], /--jwt-issuer: requires --jwks-url/],
    [["--jwt-audience", "plants"], /--jwt-audience: requires --jwks-url/],
    [
      ["--jwks-url", "https://a/k", "--jwt-audience", "a"],
      /--jwt-issuer: is required with --jwks-url/,
    ],
    [["--jwks-url", "https://a/k", "--jwt-issuer", "i"], /--jwt-audience: is required/],
    [["--jwks-url", "keys", "--jwt-issuer", "i", "--jwt-audience", "a"], /--jwks-url: is not an/],
    [["--jwks-url", "http://a/k", "--jwt-issuer", "i", "--jwt-audience", "a"], /https:\/\//],
    [["--body-bytes-max", "0"], new RegExp(`--body-bytes-max: ${whole} from 1 `)],
    [["--request-timeout-ms", "0"], new RegExp(`--request-timeout-ms: ${whole}`)],
    [["--idle-timeout-ms", "2147483648"], new RegExp(`--idle-timeout-ms: ${whole}`)],
    [["--cors-origin", "https://app.example,*"], /--cors-origin: .*\* alone/],
    [["--health", "no"], /--health: must be on or off/],
    [["--reflection", ""], /--reflection: must be on or off/],
    [["--drain-timeout-ms", "2147483648"], new RegExp(`--drain-timeout-ms: ${whole}`)],
  ])("%j", async (args, message) => {
    const { code, stdout, stderr } = await runInProcess(serve(...args));
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect(stderr).not.toContain("secret");
  });

  test.skipIf(!hasOpenssl)("a CA of clients that is a key", async () => {
    const { certFile, keyFile } = createCertificate(folder, "one");
    const tls = ["--tls-cert", certFile, "--tls-key", keyFile, "--tls-client-ca", keyFile];
    const { code, stderr } = await runInProcess(serve(...tls));
    expect(code).toBe(2);
    const reason = "cannot be used as a CA: it has no certificate in PEM";
    expect(stderr).toBe(`plant-store: --tls-client-ca: ${keyFile} ${reason}\n`);
  });

  test.skipIf(!hasOpenssl)("a certificate and a key that do not belong together", async () => {
    const one = createCertificate(folder, "one");
    const two = createCertificate(folder, "two");
    const args = ["--tls-cert", one.certFile, "--tls-key", two.keyFile];
    const { code, stderr } = await runInProcess(serve(...args));
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^plant-store: --tls-cert: [^\n]*one\.crt cannot be used[^\n]*two\.key[^\n]*\n$/,
    );
  });
});

describe("a wrong variable", () => {
  test.each([
    ["PLANT_STORE_PORT", "http", /: PLANT_STORE_PORT: must be a whole number/],
    ["PLANT_STORE_BODY_BYTES_MAX", "-1", /: PLANT_STORE_BODY_BYTES_MAX: must be/],
    ["PLANT_STORE_BASE_PATH", "api/", /: PLANT_STORE_BASE_PATH: must look like/],
    ["PLANT_STORE_STORE", "plants.db", /: PLANT_STORE_STORE: .*store URL/],
    ["PLANT_STORE_TLS_CERT", "/x", /--tls-key: is missing/],
    ["PLANT_STORE_JWT_ISSUER", "i", /: PLANT_STORE_JWT_ISSUER: requires --jwks-url/],
    ["PLANT_STORE_CONFIG", "/none", /\/none: cannot be read: ENOENT/],
    ["PLANT_STORE_STROE", "x", /_STROE: is not a setting; did you mean PLANT_STORE_STORE\?/],
    ["PLANT_STORE_TLS_CRT", "x", /did you mean PLANT_STORE_TLS_CERT\?/],
    ["PLANT_STORE_BODY_MAX_BYTES", "1", /did you mean PLANT_STORE_BODY_BYTES_MAX\?/],
    ["PLANT_STORE_CONFG", "x", /did you mean PLANT_STORE_CONFIG\?/],
    [
      "PLANT_STORE_TOKENS",
      "short-secret",
      /: PLANT_STORE_TOKENS: token 1 of 1 has fewer than 16 characters/,
    ],
    ["PLANT_STORE_TOKENS", "a-good-secret-token,,x", /token 2 of 3 is empty/],
    ["PLANT_STORE_TOKENS", "a secret with some spaces", /token 1 of 1 has a character/],
  ])("%s=%s", async (name, value, message) => {
    // A flag would win over the variable.
    const all = serve();
    const flag = `--${name.replace("PLANT_STORE_", "").toLowerCase().replaceAll("_", "-")}`;
    const at = all.indexOf(flag);
    const args = at === -1 ? all : all.toSpliced(at, 2);
    const { code, stdout, stderr } = await runInProcess(args, { [name]: value });
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect(stderr).not.toContain("secret");
  });
});

describe("a message", () => {
  test.each([
    ["--tls-cert", "myCert.pem"],
    ["--token-file", "plantStore/tokenFile"],
  ])("shows the value of %s as it was given: %s", async (flag, value) => {
    const path = join(folder, value);
    const pair = flag === "--tls-cert" ? ["--tls-key", path] : [];
    // A folder, which is no token file.
    if (flag === "--token-file") mkdirSync(path, { recursive: true });
    const { stderr } = await runInProcess(serve(flag, path, ...pair));
    expect(stderr).toContain(path);
  });
});

describe("what is not a setting exits with 1", () => {
  test("a token file that cannot be understood", async () => {
    const { code, stderr } = await runInProcess(serve("--token-file", "@/bad-tokens"));
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^plant-store: [^\n]*bad-tokens is a file of another kind, not a token file[^\n]*\n$/,
    );
  });

  test("a store that is somebody else's", async () => {
    writeFileSync(join(folder, "foreign.db"), "a text that is no database at all, long enough\n");
    const { code, stderr } = await runInProcess(serve("--store", "sqlite:@/foreign.db"));
    expect(code).toBe(1);
    expect(stderr).toMatch(/^plant-store: [^\n]*foreign\.db[^\n]*\n$/);
  });

  test("an address that is not this machine's", async () => {
    const { code, stderr } = await runInProcess(serve("--host", "192.0.2.1"));
    expect(code).toBe(1);
    expect(stderr).toMatch(/^plant-store: 192\.0\.2\.1 is not an address of this machine[^\n]*\n$/);
  });

  test("an address of the metrics that is not this machine's", async () => {
    const args = ["--admin-port", "0", "--admin-host", "192.0.2.1"];
    const { code, stderr } = await runInProcess(serve(...args));
    expect(code).toBe(1);
    expect(stderr).toMatch(/^plant-store: 192\.0\.2\.1 is not [^\n]*another --admin-host\n$/);
  });

  test("a name that nobody knows", async () => {
    const { code, stderr } = await runInProcess(serve("--host", "nowhere.invalid"));
    expect(code).toBe(1);
    expect(stderr).toMatch(/^plant-store: [^\n]*nowhere\.invalid[^\n]*\n$/);
  });
});
