import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import {
  asTokenFileError,
  changedMeanwhile,
  malformedLine,
  TokenFileError,
} from "./token-file-error.ts";
import { parseTokenLog, type TokenLog } from "./token-log.ts";

/** The content of a token file at one moment. */
export interface TokenFileContent {
  readonly log: TokenLog;
  /** Changes whenever the path leads to another file or the file is changed. */
  readonly version: string;
}

/**
 * A file over 1 MiB (about 8,000 events) is not read, because servers parse the whole file at each
 * change.
 */
export const tokenFileBytesMax = 1024 * 1024;

/**
 * Reads the file, even with bad lines. A missing file reads like an empty one.
 *
 * @throws {TokenFileError} `unsafe`, `full`, `changed` or `io`.
 */
export async function readTokenFile(file: string): Promise<TokenFileContent> {
  return asTokenFileError(file, async () => {
    // O_NONBLOCK: opening a named pipe must not wait for a writer.
    const handle = await orMissing(open(file, constants.O_RDONLY | constants.O_NONBLOCK));
    if (handle === "missing") return { log: parseTokenLog(""), version: "missing" };
    try {
      return await readOpenTokenFile(file, handle);
    } finally {
      await handle.close();
    }
  });
}

/** The version that {@link readTokenFile} would return now, at much less cost. */
export async function statTokenFile(file: string): Promise<string> {
  return asTokenFileError(file, async () => {
    const facts = await orMissing(stat(file, { bigint: true }));
    return facts === "missing" ? facts : versionOf(facts);
  });
}

/**
 * Repeats until the file was the same before and after reading, so that no half of an edit is seen.
 */
export async function readOpenTokenFile(
  file: string,
  handle: FileHandle,
): Promise<TokenFileContent> {
  // Each attempt takes microseconds, so only a file that changes all the time uses them up.
  for (let attempt = 0; attempt < 100; attempt++) {
    const before = await handle.stat({ bigint: true });
    assertSafe(file, before);
    const bytes = Buffer.alloc(Number(before.size));
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
    const version = versionOf(await handle.stat({ bigint: true }));
    if (bytesRead === bytes.length && version === versionOf(before)) {
      return { log: parseTokenLog(bytes.toString()), version };
    }
  }
  throw changedMeanwhile(file);
}

/** @throws {TokenFileError} `malformed`, for a line that cannot be parsed. */
export function assertSound(file: string, log: TokenLog): void {
  const line = log.badLines[0];
  if (line !== undefined) throw malformedLine(file, line);
}

/** Whoever writes this file can admit anybody, so only its owner may. Windows has no such modes. */
function assertSafe(file: string, facts: BigIntStats): void {
  if (!facts.isFile()) throw new TokenFileError("unsafe", `${file}: is not a regular file`);
  if (process.platform !== "win32" && (facts.mode & 0o022n) !== 0n) {
    throw new TokenFileError("unsafe", `${file}: other users can write it; run: chmod 600 ${file}`);
  }
  if (facts.size > tokenFileBytesMax) {
    throw new TokenFileError("full", `${file}: is larger than ${tokenFileBytesMax} bytes`);
  }
}

function versionOf(facts: BigIntStats): string {
  return `${facts.dev} ${facts.ino} ${facts.size} ${facts.mtimeNs} ${facts.ctimeNs}`;
}

async function orMissing<T>(found: Promise<T>): Promise<T | "missing"> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "missing";
    throw error;
  }
}
