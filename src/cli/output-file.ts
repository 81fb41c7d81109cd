/** Writes all files that users name. */
import fs from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CommandFailure, cannot } from "connect-gateway-kit/command/run";
import { syncDirectory } from "connect-gateway-kit/files";
import { assertNoLostLog, besideName, realPath } from "../store/sqlite/files.ts";
import { kindOfFile } from "./file-kind.ts";

export interface OutputTarget {
  readonly path: string;
  /** The kind of the file. Only an empty file or one of the same kind is replaced. */
  readonly kind: "a file of plants" | "a file of rejected rows" | "a backup";
  readonly force: boolean;
}

/** A file that appears at its path complete and synced, or not at all. */
export interface OutputFile extends AsyncDisposable {
  /** The temporary file to fill, absolute. It is empty, and only its owner can read it. */
  readonly temporary: string;
  write(bytes: Uint8Array): Promise<void>;
  commit(): Promise<void>;
}

/** Pipes and character devices are written to as they are. @throws {CommandFailure} */
export async function openOutputFile(target: OutputTarget): Promise<OutputFile> {
  assertMayWrite(target);
  const place = realPath(target.path);
  try {
    if (isStream(place)) return toStream(place, await open(place, "w"));
    tellUnfinished(place);
    const temporary = join(fs.mkdtempSync(unfinishedPrefix(place)), temporaryName);
    return toFile(target, temporary, await open(temporary, "wx", 0o600));
  } catch (error) {
    throw cannot("write", target.path, error);
  }
}

/** Replaces files of the same kind alone, and only with `force`. @throws {CommandFailure} */
export function assertMayWrite({ path, kind, force }: OutputTarget): void {
  assertName(path);
  const place = realPath(path);
  const old = statsOf(place);
  assertNoLostLog(path);
  if (old === undefined || (kind !== "a backup" && isStream(place))) return;
  const found = old.isFile() ? kindOfFile(place) : "not a file";
  if (found !== kind && found !== "empty") {
    throw new CommandFailure(1, `cannot write ${path}: it is ${found}; name another file`);
  }
  if (!force) throw alreadyThere(path);
}

/** The path must be a token file or not exist. @throws {CommandFailure} */
export function assertTokenFile(path: string): string {
  assertName(path);
  const found = statsOf(path)?.isFile() === true ? kindOfFile(path) : "empty";
  if (found === "empty" || found === "a token file") return path;
  throw new CommandFailure(1, `${path} is ${found}, not a token file; name another file`);
}

function assertName(path: string): void {
  if (basename(path) === "-") {
    const problem = `cannot write ${path}: it looks like a standard stream; name a file`;
    throw new CommandFailure(2, problem);
  }
  if (path.endsWith("/")) throw new CommandFailure(2, `cannot write ${path}: it names a folder`);
  if (!besideName.test(realPath(path))) return;
  const problem = `cannot write ${path}: SQLite uses such names beside a store; name another file`;
  throw new CommandFailure(1, problem);
}

/** A short name, because SQLite opens no path of more than 512 bytes. */
const temporaryName = "new";

function toFile(target: OutputTarget, temporary: string, handle: FileHandle): OutputFile {
  const place = realPath(target.path);
  let isKept = false;
  return {
    temporary,
    write: (bytes) => handle.writeFile(bytes),
    async commit() {
      try {
        const old = statsOf(place);
        // Without the right to give it away, it stays root's.
        if (old && process.getuid?.() === 0) await handle.chown(old.uid, old.gid).catch(() => {});
        fs.fsyncSync(handle.fd);
        // Writing it may have taken hours. From now on, only its name may be taken.
        isKept = true;
        assertMayWrite(target);
        if (target.force) fs.renameSync(temporary, place);
        else linkNew(temporary, place);
        isKept = false;
        syncDirectory(dirname(place));
      } catch (error) {
        const { message } = cannot("write", target.path, error);
        throw new CommandFailure(1, isKept ? `${message}; the new file is ${temporary}` : message);
      }
    },
    async [Symbol.asyncDispose]() {
      await handle.close();
      if (!isKept) fs.rmSync(dirname(temporary), { recursive: true, force: true });
    },
  };
}

function toStream(place: string, handle: FileHandle): OutputFile {
  return {
    temporary: place,
    write: (bytes) => handle.writeFile(bytes),
    commit: async () => {},
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/** Unlike a rename, a link never replaces a file that was created in the meantime. */
function linkNew(temporary: string, place: string): void {
  try {
    fs.linkSync(temporary, place);
  } catch (error) {
    // Some file systems have no links.
    if (fs.existsSync(place)) throw alreadyThere(place);
    if (error instanceof Error && "code" in error && error.code === "EEXIST") throw error;
    fs.renameSync(temporary, place);
  }
  fs.rmSync(temporary, { force: true }); // a store with two names is not opened
}

function alreadyThere(path: string): CommandFailure {
  const problem = `${path} is there already; name another file, or replace it with --force`;
  return new CommandFailure(1, problem);
}

/** Undefined if there is nothing. @throws {CommandFailure} */
export function statsOf(path: string): fs.Stats | undefined {
  try {
    return fs.statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw cannot("read", path, error);
  }
}

function isStream(place: string): boolean {
  const stats = statsOf(place);
  return stats !== undefined && (stats.isFIFO() || stats.isCharacterDevice());
}

/** The prefix to which mkdtemp adds six characters. */
function unfinishedPrefix(place: string): string {
  return join(dirname(place), `.${basename(place)}.part-`);
}

/** It is unknown whether another process is still writing it. The user has to decide. */
function tellUnfinished(place: string): void {
  const prefix = basename(unfinishedPrefix(place));
  let names: readonly string[] = [];
  try {
    names = fs.readdirSync(dirname(place));
  } catch {
    // Creating files in a folder that cannot be listed may still be allowed.
  }
  for (const name of names.filter((one) => one.startsWith(prefix))) {
    const note = `${join(dirname(place), name)} is left over from an earlier command; remove it if you do not need it and no command is running`;
    process.stderr.write(`plant-store: ${note}\n`);
  }
}
