/**
 * What is wrong stops the start: one line on stderr that names it, and exit code 2 for a setting.
 * What is wrong for each: config.test.ts, settings.test.ts of the server, setting.test.ts of the
 * proxy, and of the stores.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { createCertificate, hasOpenssl } from "../../packages/gateway/test/support/certificate.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { runInProcess } from "../support/run-in-process.ts";
import { useOpened, useTestServer } from "../support/use-test-server.ts";

const folder = useOpened(createTemporaryFolder);
const server = useTestServer();

beforeAll(() => {
  const file = (name: string) => join(folder.path, name);
  writeFileSync(file("garbage"), "not a certificate\n");
  writeFileSync(file("badTokens"), "this is no token file\n");
  writeFileSync(file("foreign.db"), "a text that is no database at all, long enough\n");
  mkdirSync(file("aFolder"));
});

/** Nothing of the machine: in the folder of the test, on a free port. */
async function expectFailure(
  code: 1 | 2,
  message: RegExp,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const safe = ["--port", "0", "--store", "sqlite:@/plants.db", "--token-file", "@/tokens"];
  const given = ["serve", ...safe, ...args].map((arg) => arg.replace("@/", `${folder.path}/`));
  const { stderr, ...result } = await runInProcess(given, env);
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(/^plant-store: [^\n]+\n$/);
  expect(stderr).not.toContain("secret");
  expect(result).toEqual({ code, stdout: "" });
}

test.each<[args: string[], message: RegExp]>([
  [["--port", "http"], /--port: must be a whole number from 0 to 65535: http/],
  [["--tls-cert", "@/garbage", "--tls-key", "@/garbage"], /--tls-cert: .*garbage cannot be used/],
])("%j exits with 2", (args, message) => expectFailure(2, message, args));

test.each([
  ["PLANT_STORE_CONFIG", "/none", /\/none: cannot be read: ENOENT/],
  ["PLANT_STORE_TOKENS", "a secret with some spaces", /token 1 of 1 has a character/],
])("%s=%s exits with 2", (name, value, message) =>
  expectFailure(2, message, [], { [name]: value }),
);

test.skipIf(!hasOpenssl)("files of TLS that do not fit exit with 2", async () => {
  const one = createCertificate(folder.path, "one");
  const two = createCertificate(folder.path, "two");
  const tls = ["--tls-cert", one.certFile, "--tls-key"];
  await expectFailure(2, /--tls-cert: .*one\.crt cannot be used.*two\.key/, [...tls, two.keyFile]);
  const ca = [...tls, one.keyFile, "--tls-client-ca", one.keyFile];
  await expectFailure(2, /--tls-client-ca: .*one\.key cannot be used as a CA: it has no/, ca);
});

test.each<[what: string, args: string[], message: RegExp]>([
  ["no token file", ["--token-file", "@/badTokens"], /badTokens is a file of another kind/],
  ["a folder of tokens", ["--token-file", "@/aFolder"], /aFolder/],
  ["somebody else's store", ["--store", "sqlite:@/foreign.db"], /foreign\.db/],
  [
    "an address elsewhere",
    ["--host", "192.0.2.1"],
    /: 192\.0\.2\.1 is not an address of this mach/,
  ],
  [
    "metrics at an address elsewhere",
    ["--admin-port", "0", "--admin-host", "192.0.2.1"],
    /192\.0\.2\.1 is not .*another --admin-host\n$/,
  ],
  ["a name that nobody knows", ["--host", "nowhere.invalid"], /nowhere\.invalid/],
])("%s exits with 1", (_what, args, message) => expectFailure(1, message, args));

test("a port that is in use exits with 1, and says what to do", async () => {
  const advice = "is in use; choose another with --port, or 0 for any free one";
  const message = new RegExp(`^plant-store: 127.0.0.1 port ${server.port} ${advice}\n$`);
  await expectFailure(1, message, ["--port", `${server.port}`]);
});
