/** What a command cannot do: it says why in one line, makes nothing, and shows no password. */
import fs from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createToken } from "connect-gateway-kit/auth/token-file";
import { beforeAll, expect, test } from "vitest";
import { createCertificate, hasOpenssl } from "../../packages/gateway/test/support/certificate.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { backupDatabase } from "../../src/store/sqlite/backup.ts";
import { plantsOf } from "../store/plant-of.ts";
import { seed } from "../store/reader-places.ts";
import { temporaryFolder } from "../store/temporary.ts";
import { openStore } from "../support/open-store.ts";
import { runInProcess } from "../support/run-in-process.ts";
import { readStoredPlants } from "../support/stored-plants.ts";
import { knownToken } from "../support/test-server.ts";
import { useOpened, useTestServer } from "../support/use-test-server.ts";

/** Stores of this and of other releases, one of another program, and what is of no use. */
const prepared = useOpened(createTemporaryFolder);

beforeAll(async () => {
  const folder = prepared.path;
  fs.mkdirSync(join(folder, "folder"));
  fs.writeFileSync(join(folder, "garbage"), "a text that is no database at all, long enough\n");
  for (const [name, pragma] of [
    ["plants", ""],
    ["earlier", "PRAGMA user_version = 0"],
    ["newer", "PRAGMA user_version = 99"],
    ["foreign", "PRAGMA application_id = 1"],
  ]) {
    await seed(`sqlite:${folder}/${name}.db`, []);
    using db = new DatabaseSync(join(folder, `${name}.db`), { timeout: 5000 });
    db.exec(`${pragma}`);
  }
  fs.symlinkSync(join(folder, "plants.db"), join(folder, "link.db"));
  await createToken(join(folder, "own"), "first", "plst_");
});

const away = "postgres://u:secret@127.0.0.1:1/a";
const same = "postgres://u:secret@h/d --to postgresql://u:secret@h:5432/d?sslmode=disable";

/** On a free port, if it got there. */
const serve = "serve --port 0 --store sqlite:@/plants.db --token-file @/tokens";

const server = useTestServer();

test.each<[line: string, code: number, message: RegExp]>([
  ["export --store sqlite:@/none.db -o @/x.csv", 1, /no store at/],
  ["export --store sqlite:@/earlier.db", 1, /the schema of an earlier release; run plant-store mi/],
  ["export --store sqlite:@/foreign.db", 1, /is the database of another program/],
  ["export --store sqlite:@/plants.db -o @/none/x", 1, /cannot write .*none\/x: no such file or/],
  [`copy --from ${away} --to sqlite:@/b.db`, 1, /cannot connect to 127\.0\.0\.1:1/],
  ["copy --from sqlite:@/none.db --to sqlite:@/b.db", 1, /there is no store at .*none\.db/],
  ["copy", 2, /--from <url>' not specified/],
  ["copy --from sqlite:a.db --to sqlite:./x/../a.db", 2, /are the same store: sqlite:a.db/],
  ["copy --from sqlite:@/plants.db --to sqlite:@/link.db", 2, /are the same store/],
  [`copy --from ${same}`, 2, /are the same store: postgres:\/\/u@h:5432\/d/],
  ["backup @/b.db --store postgres://u:secret@h/d", 2, /pg_dump/],
  ["backup @/b.db --store sqlite:@/newer.db", 1, /schema version 99, and .* run the newer release/],
  ["migrate status --store sqlite:@/newer.db", 1, /run the newer release/],
  ["migrate up --store sqlite:@/foreign.db", 1, /the database of another program/],
  ["migrate status --store mysql://u:secret@db", 2, /no store is called "mysql"/],
  [`migrate status --store ${away}`, 1, /cannot connect to 127\.0\.0\.1:1/],
  ["import @/none.csv", 1, /cannot read .*none\.csv: no such file/],
  ["import . --format csv", 1, /cannot read \.: illegal operation on a directory/],
  ["import plants.txt", 2, /the format is unknown .*--format ndjson or csv/],
  ["import -", 2, /the format is unknown \(standard input\)/],
  ["import a.csv --url http://u:secret@h/", 2, /--url must be http/],
  ["import a.csv --ca none.pem", 1, /cannot read none\.pem/],
  ["import a.csv --ca=", 1, /cannot read : no such file/],
  ["import a.csv --concurrency 0", 2, /a whole number from 1 to 1024/],
  ["import a.csv --format xml", 2, /Allowed choices are ndjson, csv/],
  ["token create a/b --token-file @/own", 2, /a token name has 1 to 64 letters/],
  ["token create first --token-file @/own", 1, /a token named first already exists/],
  ["token revoke nobody --token-file @/own", 1, /no token is named nobody/],
  [`${serve} --token-file @/garbage`, 1, /garbage is a file of another kind/],
  [`${serve} --store sqlite:@/garbage`, 1, /garbage/],
  [`${serve} --host fe80::1`, 1, /: cannot listen on fe80::1: (invalid argument|address family)/],
  [`${serve} --host 192.0.2.1`, 1, /: 192\.0\.2\.1 is not an address of this mach/],
  [`${serve} --admin-port 0 --admin-host 192.0.2.1`, 1, /192\.0\.2\.1 .*another --admin-host\n$/],
  [`${serve} --host nowhere.invalid`, 1, /nowhere\.invalid/],
])("%s exits with %i", (line, code, message) => expectRefused(line, code, message));

test("a port that is in use exits with 1, and says what to do", async () => {
  const advice = "is in use; choose another with --port, or 0 for any free one";
  const message = new RegExp(`^plant-store: 127.0.0.1 port ${server.port} ${advice}\n$`);
  await expectRefused(`${serve} --port ${server.port}`, 1, message);
});

test.skipIf(!hasOpenssl)("files of TLS that do not fit exit with 2", async () => {
  const one = createCertificate(prepared.path, "one");
  const two = createCertificate(prepared.path, "two");
  const tls = `${serve} --tls-cert ${one.certFile} --tls-key`;
  const message = /--tls-cert: .*one\.crt cannot be used.*two\.key/;
  await expectRefused(`${tls} ${two.keyFile}`, 2, message);
  const ca = `${tls} ${one.keyFile} --tls-client-ca ${one.keyFile}`;
  await expectRefused(ca, 2, /-client-ca: .*one\.key cannot be used as a CA: it has no/);
});

async function expectRefused(line: string, code: number, message: RegExp) {
  const folder = prepared.path;
  // Readers of a store write to its index.
  const made = async () => (await readdir(folder)).filter((name) => !/-(shm|wal)$/.test(name));
  const before = await made();
  const args = line.replaceAll("@/", `${folder}/`).split(" ");
  const result = await runInProcess(args, { PLANT_STORE_TOKEN: knownToken });
  expect(result).toMatchObject({ code, stdout: "" });
  expect(result.stderr).toMatch(message);
  expect(result.stderr).toMatch(/^plant-store: [^\n]+\n$/);
  expect(result.stderr).not.toContain("secret");
  expect(await made()).toEqual(before);
}

test.each([
  "check --token-file @/tokens --store sqlite:#",
  "migrate status --store sqlite:#",
  "export --store sqlite:#",
  "backup # --store sqlite:@/a.db",
  "backup @/b.db --store sqlite:#",
  "copy --from sqlite:# --to sqlite:@/b.db",
  "serve --token-file #",
  "token list --token-file #",
])("%s says that it cannot use the file, not that there is none", async (line) => {
  const folder = await temporaryFolder();
  // Nobody can look at it, not even root.
  const hidden = join(folder, "x".repeat(300));
  const args = line.replace("#", hidden).replaceAll("@", folder).split(" ");
  const { code, stdout, stderr } = await runInProcess(args);
  expect(code).toBe(1);
  const isStore = line.includes("sqlite:#");
  expect(stdout + stderr).toMatch(isStore ? /cannot use \S+x: .* URL/ : /cannot read \S+x: [^;]+$/);
  expect(stdout + stderr).not.toMatch(/there is no|version 0|\n +at /);
  expect(await readdir(folder)).toEqual([]);
});

/** As a server leaves it whose database was moved away. */
async function openLostLog() {
  const folder = await temporaryFolder();
  const path = join(folder, "data", "plants.db");
  const [old, backup, link] = [`${path}.old`, join(folder, "a.db"), join(folder, "link.db")];
  fs.mkdirSync(dirname(path));
  fs.symlinkSync(path, link);
  const store = await openStore(`sqlite:${path}`);
  fs.writeFileSync(backup, "");
  const signal = new AbortController().signal;
  await backupDatabase(path, { file: backup, signal, onProgress() {} });
  await Promise.all(plantsOf(3).map((plant) => store.create(plant)));
  fs.renameSync(path, old);
  await store.close();
  return { folder, path, old, backup, link, log: `${path}-wal` };
}

const opening = [
  "check --token-file @/tokens --store sqlite:#",
  "migrate status --store sqlite:#",
  "migrate up --store sqlite:#",
  "copy --from sqlite:@/b.db --to sqlite:#",
  "serve --port 0 --store sqlite:#",
  "export --store sqlite:#",
  "backup @/c.db --store sqlite:#",
  "copy --from sqlite:# --to sqlite:@/c.db",
];
const all = [
  ...opening,
  "export -o # --force --store sqlite:@/b.db",
  "backup # --force --store sqlite:@/b.db",
];

test.each<[string, readonly string[], (path: string, backup: string) => void]>([
  ["missing", all, () => {}],
  ["empty", all, (path) => fs.writeFileSync(path, "")],
  ["without a log, like a backup", opening, (path, backup) => fs.copyFileSync(backup, path)],
])("a log whose database is %s is kept and named by every command", async (what, lines, lose) => {
  const { folder, path, old, backup, link, log } = await openLostLog();
  await seed(`sqlite:${folder}/b.db`, plantsOf(1));
  lose(path, backup);
  const before = fs.readFileSync(log);
  const env = { PLANT_STORE_TOKENS: "x".repeat(43) };
  // By a link, each way to open one.
  const byLink = opening.map((line) => line.replace("#", link));
  for (const line of [...lines.map((one) => one.replace("#", path)), ...byLink]) {
    const args = line.replaceAll("@", folder).split(" ");
    const { code, stdout, stderr } = await runInProcess(args, env);
    expect(code, line).toBe(1);
    expect(stdout + stderr, line).toMatch(new RegExp(`${path} is ${what}, but ${log} `));
    expect(fs.readFileSync(log).equals(before), line).toBe(true);
  }
  fs.renameSync(old, path);
  expect(readStoredPlants(path)).toHaveLength(3);
  fs.renameSync(path, old);
  fs.writeFileSync(log, before.subarray(0, 32)); // its header
  const status = ["migrate", "status", "--store", `sqlite:${path}`];
  expect(await runInProcess(status, env)).toMatchObject({ code: 0 });
});
