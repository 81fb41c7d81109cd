import fs from "node:fs";
import { dirname, resolve } from "node:path";
import { getSystemErrorMap } from "node:util";
import * as kit from "connect-gateway-kit/files";
import { StoreOpenError } from "../open-error.ts";
import { applicationId } from "./schema.ts";

/** How long to wait for another process's lock: longer than any of our own commits takes. */
export const busyTimeoutMs = 5000;

/** The names of what SQLite writes beside a database. */
export const besideName = /-(wal|shm|journal)$/i;

const headerBytes = 100;
const magic = "SQLite format 3\0";
const versionOffset = 18;
const applicationIdOffset = 68;
const logHeaderBytes = 32;

/** Creates a database for its owner alone, as SQLite does its own files (-wal, -shm) then. */
export function createDatabaseFile(path: string): void {
  assertNoLostLog(path);
  accessing(path, () => kit.createFile(path));
}

/** Opening a named pipe would wait for its other end. @throws {StoreOpenError} `inaccessible` */
export function assertFile(path: string): void {
  if (statsOf(path)?.isFile()) return;
  throw new StoreOpenError("inaccessible", `${path} is not a file; name one in the store URL`);
}

/**
 * Reads the header before SQLite opens the file, which may already change it (roll back a journal,
 * checkpoint a log). Call only while no connection of this process has the file open: closing any
 * descriptor of a file releases all POSIX locks that the process holds on it.
 * @param flags By default for writing: SQLite would fail only at the first create.
 * @throws {StoreOpenError} `foreign`, `inaccessible`, `damaged`
 */
export function assertOurs(path: string, flags: "r" | "r+" = "r+"): void {
  assertFile(path);
  const header = readHead(path, headerBytes, flags);
  if (header.byteLength === 0) return;
  // The machine stopped while the database was created. SQLite rolls that back.
  if (header.every((byte) => byte === 0) && fs.existsSync(`${path}-journal`)) return;
  if (header.byteLength < headerBytes || header.toString("latin1", 0, magic.length) !== magic)
    throw foreign(path, "is not an SQLite database");
  if (header.readInt32BE(applicationIdOffset) !== applicationId)
    throw foreign(path, "is the database of another program");
  // SQLite would apply any log to a backup that was put in the place of its store.
  if (header[versionOffset] === 1) assertNoLostLog(path, "without a log, like a backup");
}

/** Such a log holds confirmed plants, and SQLite deletes it even to read. @throws {StoreOpenError} */
export function assertNoLostLog(path: string, state?: string): void {
  const [file, log] = [realPath(path), `${realPath(path)}-wal`];
  const found = state ?? (sizeOf(file) > 0 ? undefined : fs.existsSync(file) ? "empty" : "missing");
  if (found === undefined || sizeOf(log) <= logHeaderBytes) return;
  const problem = `${file} is ${found}, but ${log} may hold confirmed plants; put back the database that the log belongs to, or move the log away`;
  throw new StoreOpenError("damaged", problem);
}

/** Whether its log is beside it. Tools keep backups, which have none, under several names. */
export function isWhole(path: string): boolean {
  const { nlink } = fs.statSync(path);
  if (nlink === 1 || sizeOf(`${realPath(path)}-wal`) > logHeaderBytes) return true;
  return readHead(path, headerBytes)[versionOffset] === 1;
}

function sizeOf(path: string): number {
  return Number(statsOf(path)?.size ?? 0);
}

function foreign(path: string, what: string): StoreOpenError {
  const problem = `${path} ${what}; it was not changed; name another file in the store URL`;
  return new StoreOpenError("foreign", problem);
}

export function readHead(path: string, bytes: number, flags = "r"): Buffer {
  const head = Buffer.alloc(bytes);
  return withFile(path, flags, (descriptor) =>
    head.subarray(0, fs.readSync(descriptor, head, 0, bytes, 0)),
  );
}

/**
 * Makes the entries of the file and of every directory above it durable: a file is lost with its
 * name. All of them, because an earlier start may have created some and been killed. @throws The
 * system's error.
 */
export function syncDirectories(path: string): void {
  for (const file of new Set([path, fs.realpathSync(path)])) {
    let directory = file;
    do {
      directory = dirname(directory);
      kit.syncDirectory(directory);
    } while (directory !== dirname(directory));
  }
}

/** The log of an existing database: beside the file itself, not beside a link to it. */
export function logPath(path: string): string {
  return `${fs.realpathSync(path)}-wal`;
}

/** Absolute. Follows a link, also to a file that does not exist yet. */
export function realPath(path: string): string {
  try {
    const real = fs.realpathSync(path);
    // The target of /dev/stdout may be a pipe, which has no path.
    return fs.existsSync(real) ? real : path;
  } catch (error) {
    const isMissing = codeOf(error) === "ENOENT";
    const isLink = isMissing && fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink();
    if (!isLink) return resolve(path);
    return realPath(resolve(fs.realpathSync(dirname(path)), fs.readlinkSync(path)));
  }
}

/**
 * Rewrites a file in place, including its size, and syncs it. After a failed sync, the system may
 * show unwritten data as if it were on the disk, and later syncs succeed, until it is written
 * again. A power failure meanwhile leaves at most a zero after the end, which a log tolerates. Call
 * only while nobody else can write the file. @throws {StoreOpenError} `inaccessible`
 */
export function rewriteFile(path: string): void {
  if (fs.statSync(path).size === 0) return;
  withFile(path, "r+", (descriptor) => {
    const bytes = Buffer.alloc(1024 * 1024);
    let position = 0;
    for (;;) {
      const length = fs.readSync(descriptor, bytes, 0, bytes.length, position);
      if (length === 0) break;
      // It may write less. The next iteration reads the rest again.
      position += fs.writeSync(descriptor, bytes, 0, length, position);
    }
    // An unchanged size would not be written, and on a full disk no commit extends it.
    fs.ftruncateSync(descriptor, position + 1);
    fs.ftruncateSync(descriptor, position);
    fs.fsyncSync(descriptor);
  });
}

/**
 * Watches whether files are still those at their paths. SQLite keeps writing to ones that were deleted
 * or replaced, which are lost when the process ends. The index of a log has the locks: a process that
 * makes a new one writes over the same log. @returns A check that throws if they are not.
 */
export function watchFiles(files: readonly string[], log?: string): () => void {
  const watched = files.map((file) => ({ file, before: fileId(file) }));
  return () => {
    for (const { file, before } of watched) {
      // To open one of the others would lose its locks.
      if (fileId(file) !== before || (file === log && isCut(file))) {
        throw new Error(`${file} was deleted, moved, cut or replaced while the store was open`);
      }
    }
  };
}

/** Whether a log was emptied: SQLite writes on behind zeros, and nobody finds what it writes. */
function isCut(file: string): boolean {
  try {
    return readHead(file, 4).toString("latin1") === "\0\0\0\0";
  } catch {
    return false; // no descriptor is left, for example
  }
}

/** Undefined if there is no file. (`existsSync` says so of what may not be searched.) */
export function fileId(path: string): string | undefined {
  const stats = statsOf(path);
  return stats && `${stats.dev}:${stats.ino}`;
}

function statsOf(path: string): fs.BigIntStats | undefined {
  return accessing(path, () => fs.statSync(path, { bigint: true, throwIfNoEntry: false }));
}

function withFile<T>(path: string, flags: string, work: (descriptor: number) => T): T {
  return accessing(path, () => kit.withFile(path, flags, work));
}

/** @throws {StoreOpenError} `inaccessible` */
function accessing<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw inaccessible(path, error);
  }
}

const reasons: ReadonlyMap<string, string> = new Map(getSystemErrorMap().values());

export function inaccessible(path: string, cause: unknown): StoreOpenError {
  const code = codeOf(cause);
  const problem = `cannot use ${path}: ${reasons.get(code) ?? code}; change that, or name another file in the store URL`;
  return new StoreOpenError("inaccessible", problem, { cause });
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "unknown error";
}
