import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import {
  asTokenFileError,
  changedMeanwhile,
  malformedLine,
  TokenFileError,
} from "./token-file-error.ts";
import { parseTokenLog, type TokenLog } from "./token-log.ts";

/** What a token file said at one moment. */
export interface TokenFileContent {
  readonly log: TokenLog;
  /** Differs whenever the path leads to another file, or the file was changed. */
  readonly version: string;
}

/**
 * Beyond 1 MiB (some 8,000 events) a file is not read: servers parse it whole
 * at each change.
 */
export const tokenFileBytesMax = 1024 * 1024;

/**
 * Reads the file, whatever its lines say. One that does not exist reads like an
 * empty one.
 *
 * @throws {TokenFileError} `unsafe`, `full`, `changed` or `io`.
 */
export async function readTokenFile(file: string): Promise<TokenFileContent> {
  return asTokenFileError(file, async () => {
    // O_NONBLOCK: opening a named pipe must not wait for somebody to write into it.
    const handle = await orMissing(open(file, constants.O_RDONLY | constants.O_NONBLOCK));
    if (handle === "missing") return { log: parseTokenLog(""), version: "missing" };
    try {
      return await readOpenTokenFile(file, handle);
    } finally {
      await handle.close();
    }
  });
}

/** The version that {@link readTokenFile} would answer with now, for much less work. */
export async function statTokenFile(file: string): Promise<string> {
  return asTokenFileError(file, async () => {
    const facts = await orMissing(stat(file, { bigint: true }));
    return facts === "missing" ? facts : versionOf(facts);
  });
}

/** Reads until the file was the same before and after, so that no half of an edit is seen. */
export async function readOpenTokenFile(
  file: string,
  handle: FileHandle,
): Promise<TokenFileContent> {
  // Each attempt takes microseconds; only a file that never rests uses them up.
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

/** @throws {TokenFileError} `malformed`, for a line that cannot be understood. */
export function assertSound(file: string, log: TokenLog): void {
  const line = log.badLines[0];
  if (line !== undefined) throw malformedLine(file, line);
}

/** Whoever writes this file lets anybody in, so only its owner may. Windows has no such modes. */
function assertSafe(file: string, facts: BigIntStats): void {
  if (!facts.isFile()) throw new TokenFileError("unsafe", `${file}: is not a regular file`);
  if (process.platform !== "win32" && (facts.mode & 0o022n) !== 0n) {
    throw new TokenFileError("unsafe", `${file}: others can write it; run: chmod 600 ${file}`);
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
