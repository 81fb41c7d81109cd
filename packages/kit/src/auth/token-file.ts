/**
 * The file with opaque tokens: a TokenLog of their digests, with mode 0600.
 *
 * Concurrency. Any number of processes may create and revoke tokens while servers read. Each change
 * is one write in append mode, and the order in the file decides: of several that create one name,
 * exactly one succeeds. (Not on NFS. And an editor that saves over a change undoes it.)
 *
 * Durability. A change that was reported as done is on the disk. One that failed with `changed` or
 * `io` may have been made.
 */
import { hash, randomBytes } from "node:crypto";
import fs from "node:fs";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { createFile, syncDirectory, withFile } from "../files/create-file.ts";
import {
  formatTokenEvent,
  isTokenName,
  parseTokenLog,
  type TokenEvent,
  type TokenLog,
  type TokenRecord,
} from "./token-log.ts";

export type TokenFileErrorCode =
  | "invalid_name"
  | "name_in_use"
  | "unknown_name"
  /** The file has reached its maximum size or exceeds it. */
  | "full"
  | "malformed"
  /** Not a regular file, or writable by others than its owner. */
  | "unsafe"
  /** Something else undid the change. Retry. */
  | "changed"
  /** An operating system error, given in the cause. */
  | "io";

/** The message is one line and quotes nothing from the file. */
export class TokenFileError extends Error {
  override readonly name = "TokenFileError";
  readonly code: TokenFileErrorCode;

  constructor(code: TokenFileErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export interface TokenFileContent {
  readonly log: TokenLog;
  /** Changes whenever the path leads to another file or the file is changed. */
  readonly version: string;
}

/** The maximum of live tokens. For more callers, use JWTs. */
export const liveTokensMax = 1000;

/** A larger file is not read, because servers parse all of it at each change. */
export const tokenFileBytesMax = 1024 * 1024;

/** Leaves room to revoke {@link liveTokensMax} of the longest names. */
const createBytesMax = tokenFileBytesMax - 128 * 1024;

/** The file stores its digest alone. @param prefix Letters and an underscore. @throws {TokenFileError} */
export async function createToken(file: string, name: string, prefix: string): Promise<string> {
  assertTokenName(name);
  const token = mintToken(prefix);
  const digest = digestToken(token).toString("hex");
  const inUse = `${file}: a token named ${name} already exists; choose another name`;
  withErrors(file, () => {
    for (const made of createFile(file)) syncDirectory(dirname(made));
  });
  const createdAt = new Date().toISOString();
  append(file, { kind: "create", name, digest, createdAt }, ({ live }, bytes) => {
    if (live.has(name)) throw new TokenFileError("name_in_use", inUse);
    if (bytes <= createBytesMax && live.size < liveTokensMax) return;
    const limits = `${liveTokensMax} tokens or ${createBytesMax} bytes`;
    const advice = "revoke tokens, or delete the lines of names that are revoked";
    throw new TokenFileError("full", `${file}: is full (${limits}); ${advice}`);
  });
  // Another process may have been faster, or an editor may have replaced the file.
  const found = readTokenFile(file).log.live.get(name)?.digest;
  if (found === digest) return token;
  throw found === undefined ? undone(file) : new TokenFileError("name_in_use", inUse);
}

/** The live tokens, in the order of their creation. Empty if there is no file. @throws {TokenFileError} */
export async function listTokens(file: string): Promise<readonly TokenRecord[]> {
  return [...assertSound(file, readTokenFile(file).log).live.values()];
}

/** Running servers reject it within a second. @throws {TokenFileError} Any code but `name_in_use`. */
export async function revokeToken(file: string, name: string): Promise<void> {
  assertTokenName(name);
  const revoked = assertSound(file, readTokenFile(file).log).live.get(name);
  if (revoked === undefined)
    throw new TokenFileError("unknown_name", `${file}: no token is named ${name}`);
  append(file, { kind: "revoke", name, at: new Date().toISOString() }, () => {});
  if (readTokenFile(file).log.live.get(name)?.digest === revoked.digest) throw undone(file);
}

/** Reads the file, even with bad lines, or missing. @throws {TokenFileError} `unsafe`, `full` or `io`. */
export function readTokenFile(file: string): TokenFileContent {
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const flags = fs.constants.O_RDONLY | fs.constants.O_NONBLOCK;
  const missing = { log: parseTokenLog(""), version: "missing" };
  return withErrors(file, () => withFile(file, flags, (fd) => readOpen(file, fd)), missing);
}

/** The version that {@link readTokenFile} would return now. Takes no time of the event loop. */
export async function statTokenFile(file: string): Promise<string> {
  return await stat(file, { bigint: true }).then(versionOf, ({ code }: NodeJS.ErrnoException) =>
    code === "ENOENT" ? "missing" : `${code}`,
  );
}

/** @throws {TokenFileError} `malformed`, for a line that cannot be parsed. */
export function assertSound(file: string, log: TokenLog): TokenLog {
  const [line] = log.badLines;
  if (line === undefined) return log;
  const syntax = 'a line is "create NAME SHA256 TIME", "revoke NAME TIME" or "# comment"';
  throw new TokenFileError("malformed", `${file}: line ${line} cannot be understood; ${syntax}`);
}

/** Taken before the bytes are read: a change in between is another version. */
function readOpen(file: string, fd: number): TokenFileContent & { readonly bytes: number } {
  const facts = fs.fstatSync(fd, { bigint: true });
  assertSafe(file, facts);
  const log = parseTokenLog(fs.readFileSync(fd, "utf8"));
  return { log, version: versionOf(facts), bytes: Number(facts.size) };
}

/** Anyone who can write this file can create tokens, so only its owner may. Windows has no such modes. */
function assertSafe(file: string, facts: fs.BigIntStats): void {
  if (!facts.isFile()) throw new TokenFileError("unsafe", `${file}: is not a regular file`);
  if (process.platform !== "win32" && (facts.mode & 0o022n) !== 0n)
    throw new TokenFileError("unsafe", `${file}: other users can write it; run: chmod 600 ${file}`);
  const full = `${file}: is larger than ${tokenFileBytesMax} bytes; delete lines of revoked tokens`;
  if (facts.size > tokenFileBytesMax) throw new TokenFileError("full", full);
}

function versionOf({ dev, ino, size, mode, mtimeNs, ctimeNs }: fs.BigIntStats): string {
  return `${dev} ${ino} ${size} ${mode} ${mtimeNs} ${ctimeNs}`;
}

/** @param assertAllowed Called with the log and the file's bytes, before anything is written. */
function append(
  file: string,
  event: TokenEvent,
  assertAllowed: (log: TokenLog, bytes: number) => void,
): void {
  const flags = fs.constants.O_RDWR | fs.constants.O_APPEND;
  withErrors(file, () => {
    withFile(file, flags, (fd) => {
      const { log, bytes } = readOpen(file, fd);
      assertAllowed(assertSound(file, log), bytes);
      const line = Buffer.from(log.tail + formatTokenEvent(event));
      // Part of a line is harmless, see TokenLog. The rest might land after another process's line.
      if (fs.writeSync(fd, line) !== line.length)
        throw new Error("only part of the line was written");
      fs.fsyncSync(fd);
    });
    if (event.kind === "create") syncDirectory(dirname(file));
  });
}

/** @param missing The result if there is no such file. Default: an error. */
function withErrors<T>(file: string, work: () => T, missing?: T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof TokenFileError) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" && missing !== undefined) return missing;
    const problem = code === "EISDIR" ? "is not a regular file" : message;
    throw new TokenFileError("io", `${file}: ${problem}`, { cause });
  }
}

function assertTokenName(name: string): void {
  if (isTokenName(name)) return;
  const rule = "1 to 64 letters, digits, dots, underscores and hyphens";
  throw new TokenFileError("invalid_name", `a token name has ${rule}`);
}

function undone(file: string): TokenFileError {
  return new TokenFileError("changed", `${file}: was changed by something else; try again`);
}

/** 256 random bits as base64url after a prefix, by which people and secret scanners recognise a leak. */
export function mintToken(prefix: string): string {
  return prefix + randomBytes(32).toString("base64url");
}

/** Whether a token has the form of one from {@link mintToken}: after the prefix, 32 bytes as base64url. */
export function looksMinted(token: string): boolean {
  return /^[a-z]{1,8}_[\w-]{43}$/.test(token);
}

/** Stored instead of a token. No salt or stretching: 256 random bits cannot be guessed. */
export function digestToken(token: string): Buffer {
  // One call: a third faster than createHash, and this runs for every request.
  return hash("sha256", token, "buffer");
}
