/** What no command writes over, whatever path people give it. */
import { fsyncSync, linkSync, renameSync } from "node:fs";
import { link, mkdir, open, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { type OutputTarget, openOutputFile } from "../../src/cli/output-file.ts";
import type { PlantStore } from "../../src/plant.ts";
import { plantOf } from "../store/plant-of.ts";
import { temporaryFolder } from "../store/temporary.ts";
import { openStore } from "../support/open-store.ts";
import { runInProcess } from "../support/run-in-process.ts";
import { readStoredPlants } from "../support/stored-plants.ts";
import { knownToken } from "../support/test-server.ts";
import { useOpened, useTestServer } from "../support/use-test-server.ts";

vi.mock(import("node:fs"), async (original) => {
  const fs = await original();
  const { fsyncSync, linkSync, renameSync } = fs;
  const forbid = (work: (...args: never[]) => unknown, name: string) =>
    vi.fn((...args: never[]) => {
      if (!String(args[0]).endsWith(name)) return work(...args);
      throw Object.assign(new Error(`EACCES: ${name}`), { code: "EACCES" });
    });
  const mocked = {
    ...fs,
    openSync: forbid(fs.openSync, "/unreadable") as unknown as typeof fs.openSync,
    statSync: forbid(fs.statSync, "/hidden") as unknown as typeof fs.statSync,
    fsyncSync: vi.fn(fsyncSync),
    linkSync: vi.fn(linkSync),
    renameSync: vi.fn(renameSync),
  };
  return { ...mocked, default: mocked };
});

interface Place {
  readonly folder: string;
  /** A store that is open, with its log beside it. */
  readonly store: string;
}

/** Files by their content. */
const files = {
  "a commented token file": `# ours\n\ncreate me ${"a".repeat(64)} 2026-01-01T00:00:00.000Z\n`,
  "a key": "-----BEGIN PRIVATE KEY-----\nMIG\n",
  "a certificate": "subject=me\n-----BEGIN CERTIFICATE-----\nMIG\n",
  "a bearer token": `${knownToken}\n`,
  "a key set": '{"keys":[]}',
  settings: "port: 8080\n",
  "a database of another program": `SQLite format 3\0${"\0".repeat(200)}`,
  "a package": '{\n  "name": "a",\n  "id": 1\n}\n',
  "rows with another field": '{"id":1,"name":"a","tag":"b","price":1}\n',
  "a list of problems": '{"line":1,"reason":"no","file":"a.ts"}\n',
  "another table": "id,name\na,1\n",
  "an export": '{"id":1,"name":"a"}\n',
  "an export of long names": `{"id":-1,"name":"\\"}${"a".repeat(488)}","tag":"b"}\n`,
  "an export as CSV": "id,name,tag\r\n1,a,\r\n",
  "rejected rows": '{"line":1,"reason":"no","row":{}}\n',
  "an empty file": "",
};

/** What else may be at a path. Each makes one and returns the path. */
const places = {
  "the store": async ({ store }) => store,
  "its log": async ({ store }) => `${store}-wal`,
  "its index": async ({ store }) => `${store}-shm`,
  "its journal, which is not there": async ({ store }) => `${store}-journal`,
  "the name of a log": async ({ folder }) => join(folder, "other.db-wal"),
  "a name of standard streams": async ({ folder }) => join(folder, "-"),
  "a hard link to the store": ({ folder, store }) => at(folder, (path) => link(store, path)),
  "a symbolic link to the store": ({ folder, store }) => at(folder, (path) => symlink(store, path)),
  "a token file": async ({ folder }) => {
    await runInProcess(["token", "create", "me", "--token-file", join(folder, "tokens")]);
    return join(folder, "tokens");
  },
  "an unreadable file": ({ folder }) => written(folder, "unreadable", '{"id":1,"name":"a"}\n'),
  "a file in an unreadable folder": ({ folder }) => written(folder, "hidden", ""),
  "a folder": ({ folder }) => at(folder, mkdir),
  "a folder that is missing": async ({ folder }) => `${folder}/none/`,
  "a backup": async ({ folder, store }) => {
    await runInProcess(["backup", join(folder, "b.db"), "--store", `sqlite:${store}`]);
    // An older one: a byte of SQLite's count of changes.
    const bytes = await readFile(join(folder, "b.db"));
    bytes.writeUInt8(bytes.readUInt8(27) ^ 1, 27);
    await writeFile(join(folder, "b.db"), bytes);
    return join(folder, "b.db");
  },
  "a backup in the place of a store, beside its log": async ({ folder, store }) => {
    await runInProcess(["backup", join(folder, "l.db"), "--store", `sqlite:${store}`]);
    return (await written(folder, "l.db-wal", "of a store")).replace("-wal", "");
  },
} satisfies Record<string, (place: Place) => Promise<string>>;
type Kind = keyof typeof files | keyof typeof places;

const kinds = [...Object.keys(files), ...Object.keys(places)] as Kind[];

/** @returns the path. */
const make = (kind: Kind, place: Place) =>
  kind in files
    ? written(place.folder, "file", files[kind as keyof typeof files])
    : places[kind as keyof typeof places](place);

async function at(folder: string, makeOne: (path: string) => Promise<unknown>): Promise<string> {
  await makeOne(join(folder, "one"));
  return join(folder, "one");
}

async function written(folder: string, name: string, content: string): Promise<string> {
  await writeFile(join(folder, name), content);
  return join(folder, name);
}

const exports = kinds.filter((kind) => /^an export/.test(kind));
const tokenFiles: readonly Kind[] = ["a token file", "a commented token file"];
const migrated = kinds.filter((kind) => /^a backup$|^an empty file$|name of /.test(kind));

/** What stands for the others where a command writes over nothing, and where it opens a store. */
const few: readonly Kind[] = [
  ...(["an export", "rejected rows", "an empty file", "the store", "its log"] as const),
  ...(["its journal, which is not there", "a symbolic link to the store", "a folder"] as const),
  ...(["the name of a log", "a backup", "a token file", "a name of standard streams"] as const),
];

/** Every command that writes to a path, and what it may change there. */
const commands: readonly (readonly [line: string, changes: readonly Kind[]])[] = [
  ["export --store sqlite:STORE -o PATH", []],
  ["export --store sqlite:STORE -o PATH --force", [...exports, "an empty file"]],
  ["import BAD --format csv --url URL --rejects PATH", []],
  ["import BAD --format csv --url URL --rejects PATH --force", ["rejected rows", "an empty file"]],
  ["backup PATH --store sqlite:STORE", []],
  ["backup PATH --store sqlite:STORE --force", ["a backup", "an empty file"]],
  ["token create you --token-file PATH", [...tokenFiles, "an empty file"]],
  ["token revoke me --token-file PATH", tokenFiles],
  // These open stores, which is no damage to a store.
  ["migrate up --store sqlite:PATH", migrated],
  ["copy --from sqlite:STORE --to sqlite:PATH", migrated],
];

const stores: Kind[] = ["the store", "a hard link to the store", "a symbolic link to the store"];

const server = useTestServer();

describe.each(commands)("%s", (line, changes) => {
  const home = useOpened(createTemporaryFolder);
  let store: string;
  let open: PlantStore;
  const created: bigint[] = [];

  beforeAll(async () => {
    store = join(home.path, "plants.db");
    open = await openStore(`sqlite:${store}`);
    return () => open.close();
  });

  async function create(): Promise<void> {
    const id = BigInt(created.length + 1);
    await open.create(plantOf(id));
    created.push(id);
  }

  test.each(/--force|token/.test(line) ? kinds : few)("on %s", async (kind) => {
    const folder = await temporaryFolder();
    const at = { folder, store };
    await create();
    const bad = await written(folder, "bad", "id,name\nx,a\n");
    const path = await make(kind, at);
    const before = await readFile(path).catch(String);
    const places: Record<string, string> = { PATH: path, STORE: store, BAD: bad, URL: server.url };
    const args = line.split(" ").map((arg) => arg.replace(/[A-Z]+/, (name) => places[name] ?? ""));
    const { code, stderr } = await runInProcess(args, { PLANT_STORE_TOKEN: knownToken });
    const isOpened = /^(migrate|copy)/.test(line) && stores.includes(kind);
    // Readers of a store write to its index.
    const isIndex = kind === "its index";
    const isChanged = !isIndex && String(await readFile(path).catch(String)) !== String(before);
    if (!isOpened) expect({ isChanged }, stderr).toEqual({ isChanged: changes.includes(kind) });
    if (!isOpened && !isChanged) expect({ code, stderr }).toEqual(refused);
    // What was confirmed is still there, and the store goes on.
    await open.create(plantOf(1n));
    await create();
    expect(readStoredPlants(store).map(({ id }) => id)).toEqual(created);
  });
});

const refused = {
  code: expect.toSatisfy((code) => code > 0),
  stderr: expect.stringMatching(/^plant-store: (?!.*the new file is)[^\n]+\n$/),
};

const kind = "a file of plants";
const plants = (path: string, force = false): OutputTarget => ({ path, kind, force });

test("two at once, of processes with one number as in containers, leave each other alone", async () => {
  const folder = await temporaryFolder();
  const path = join(folder, "out.csv");
  const first = await openOutputFile(plants(path));
  using written = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const second = await openOutputFile(plants(path));
  expect(written.mock.lastCall).toEqual([expect.stringMatching(/is left over from an earlier/)]);
  await first.write(Buffer.from("first"));
  await second.write(Buffer.from("second"));
  await first.commit();
  // The work of the second is kept, without a name.
  const refused = await second.commit().then(String, String);
  expect(refused).toMatch(/out\.csv: it is a file of another kind.*the new file is .*\.out\.csv/);
  expect(await readFile(second.temporary, "utf8")).toBe("second");
  for (const file of [first, second]) await file[Symbol.asyncDispose]();
  expect(await readFile(path, "utf8")).toBe("first");
  expect(await readdir(folder)).toEqual([expect.stringMatching(/^\.out\.csv\.part-/), "out.csv"]);
});

test.skipIf(process.platform === "win32").each([
  ["is new", false, linkSync],
  ["replaces another", true, renameSync],
] as const)("a file that %s is synced, and its name after it", async (_what, force, giveName) => {
  const path = join(await temporaryFolder(), "out");
  await using file = await openOutputFile(plants(path, force));
  await file.write(Buffer.from("whole"));
  for (const mock of [fsyncSync, giveName]) vi.mocked(mock).mockClear();
  await file.commit();
  expect(vi.mocked(giveName).mock.calls).toEqual([[file.temporary, path]]);
  const [content = 0, name = 0] = vi.mocked(fsyncSync).mock.invocationCallOrder;
  const [naming = 0] = vi.mocked(giveName).mock.invocationCallOrder;
  expect([content, naming, name]).toEqual([content, naming, name].toSorted((a, b) => a - b));
});

test.skipIf(process.getuid === undefined)("root may fail to chown, but must sync", async () => {
  const path = await written(await temporaryFolder(), "out", "");
  await using handle = await open(path);
  using _root = vi.spyOn(process as { getuid(): number }, "getuid").mockReturnValue(0);
  using chown = vi.spyOn(Object.getPrototypeOf(handle), "chown").mockRejectedValue(new Error());
  await using file = await openOutputFile(plants(path, true));
  vi.mocked(fsyncSync).mockImplementationOnce(() => {
    throw Object.assign(new Error(), { code: "ENOSPC" });
  });
  await expect(file.commit()).rejects.toThrow(/^cannot write \S+out: no space left on device$/);
  expect(chown).toHaveBeenCalledOnce();
  await file.commit();
});
