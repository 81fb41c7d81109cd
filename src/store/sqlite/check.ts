import { accessSync, constants, realpathSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { type Finding, finding } from "../options.ts";
import { assertDurable, assertExists, configure, openError, openForReading } from "./database.ts";
import { assertDriver, type Database, readValue } from "./driver.ts";
import { failureCode } from "./failure.ts";
import { readHead } from "./files.ts";
import { assertPlantStore, migrations } from "./schema.ts";
import { describeUsers } from "./users.ts";

/** Below `fail`, a commit may soon fail. Below `warn`, it is time to act. */
const freeBytesMin = { fail: 64 * 1024 * 1024, warn: 1024 * 1024 * 1024 } as const;
/** Four times the size to which a log is truncated: a reader has been open for long. */
const logBytesMax = 256 * 1024 * 1024;

/** Checks a database and its file system. Servers may keep using it. @param path Absolute. */
export async function* checkDatabase(path: string): AsyncGenerator<Finding, void> {
  yield attempt(path, "SQLite", assertDriver);
  try {
    assertExists(path);
    // Its log, folder and disk are those of the file itself, not of a link to it.
    const file = realpathSync(path);
    yield* checkRights(file);
    yield* checkDisk(file);
    yield checkLog(file);
    const servers = describeUsers(file, "servers");
    if (servers.includes(",")) {
      yield finding("warn", "servers", `several have it open; run one for each file${servers}`);
    }
    using db = openForReading(file);
    yield* checkOpen(db, file);
  } catch (error) {
    yield finding("fail", "store", openError(path, error).message);
  }
}

function* checkOpen(db: Database, path: string): Generator<Finding, void> {
  const version = assertPlantStore(db);
  const isDue = version < migrations.length;
  const due = isDue ? "; the next start migrates it, or run: plant-store migrate up" : "";
  const level = isDue ? "warn" : "ok";
  yield finding(level, "schema", `version ${version} of ${migrations.length}${due}`);
  yield checkSettings(db, path);
  // Last, because it reads the whole database.
  yield checkIntegrity(db);
}

/** Whether SQLite accepts a server's settings here. A backup is not in WAL mode yet. */
function checkSettings(db: Database, path: string): Finding {
  return attempt(path, "settings", () => {
    configure(db);
    const mode = readValue(db, "PRAGMA journal_mode");
    assertDurable(db, mode);
    const text = "synchronous=FULL and fullfsync are in force on a server's connections";
    return mode === "wal" ? text : `${text}; the next start turns on the log`;
  });
}

function checkIntegrity(db: Database): Finding {
  const faults = faultsOf(db);
  if (faults.length > 0) {
    const advice = "stop the server and restore the store from a backup";
    return finding("fail", "integrity", `${faults.join("; ")}: ${advice}`);
  }
  const count = readValue(db, "SELECT count(*) FROM plants");
  return finding("ok", "integrity", `whole; plants: ${count}`);
}

/** Some faults make it impossible to look for others. */
function faultsOf(db: Database): readonly string[] {
  try {
    const rows = db.prepare("PRAGMA integrity_check(3)").all();
    const lines = rows.flatMap((row) => String(row["integrity_check"]).split("\n"));
    return lines.filter((line) => line !== "ok");
  } catch (error) {
    return [`it could not be read whole (${failureCode(error)})`];
  }
}

function* checkRights(path: string): Generator<Finding, void> {
  yield attempt(path, "rights", () => {
    // access(2) would take a disk for writable that ext4 no longer writes to, after an error.
    readHead(path, 1, "r+");
    accessSync(dirname(path), constants.W_OK);
    return "this user may write the store and its folder";
  });
  // Windows has no such modes.
  if (process.platform === "win32") return;
  const mode = statSync(path).mode;
  if ((mode & 0o022) !== 0) {
    yield finding("fail", "rights", `other users can write ${path}; run: chmod 600 ${path}`);
  } else if ((mode & 0o044) !== 0) {
    const advice = `to prevent that, run: chmod 600 ${path}`;
    yield finding("warn", "rights", `other users can read ${path}; ${advice}`);
  }
  const folder = statSync(dirname(path)).mode;
  // With the sticky bit, users cannot replace each other's files.
  if ((folder & 0o022) !== 0 && (folder & 0o1000) === 0) {
    const advice = `run: chmod 700 ${dirname(path)}`;
    yield finding("fail", "rights", `other users can replace files in ${dirname(path)}; ${advice}`);
  }
}

/** Magic numbers of Linux's statfs(2). */
const fileSystems: ReadonlyMap<number, string> = new Map([
  [0x01_02_19_94, "is in memory (tmpfs): plants are gone with the machine; use a disk"],
  [0x69_69, "is on NFS, where locks and syncs are not to be relied on; use a local disk"],
  [0x65_73_55_46, "is on FUSE; if that is a network drive, such as sshfs, use a local disk"],
  [0xff_53_4d_42, "is on a network drive (CIFS); use a local disk"],
  [0xfe_53_4d_42, "is on a network drive (SMB); use a local disk"],
]);

function* checkDisk(path: string): Generator<Finding, void> {
  const { type, bavail, bsize } = statfsSync(dirname(path));
  const fileSystem = process.platform === "linux" ? fileSystems.get(type) : undefined;
  if (fileSystem !== undefined) yield finding("warn", "disk", `it ${fileSystem}`);
  const free = bavail * bsize;
  const text = `${Math.floor(free / 1024 / 1024)} MiB free`;
  if (free >= freeBytesMin.warn) yield finding("ok", "disk", text);
  else {
    const level = free < freeBytesMin.fail ? "fail" : "warn";
    yield finding(level, "disk", `${text}; free some space, or move the store`);
  }
}

function checkLog(path: string): Finding {
  const bytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const text = `its log has ${Math.ceil(bytes / 1024 / 1024)} MiB`;
  if (bytes <= logBytesMax) return finding("ok", "log", text);
  const advice = "stop whatever reads the store for long, such as a copy or an export";
  return finding("warn", "log", `${text}; ${advice}${describeUsers(path, "readers")}`);
}

function attempt(path: string, subject: string, look: () => string): Finding {
  try {
    return finding("ok", subject, look());
  } catch (error) {
    return finding("fail", subject, openError(path, error).message);
  }
}
