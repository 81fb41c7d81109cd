import { constants } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { digestToken, mintToken } from "./token.ts";
import { asTokenFileError, changedMeanwhile, TokenFileError } from "./token-file-error.ts";
import {
  assertSound,
  readOpenTokenFile,
  readTokenFile,
  tokenFileBytesMax,
} from "./token-file-read.ts";
import {
  formatTokenEvent,
  isTokenName,
  type TokenEvent,
  type TokenLog,
  type TokenRecord,
} from "./token-log.ts";

// The file with opaque tokens: a TokenLog of their digests. Created with mode 0600, in a directory
// created with mode 0700.
//
// Concurrency. Any number of processes may create and revoke tokens at once, while servers read.
// Each change is one write in append mode, which the kernel puts after the previous one, so none is
// lost. The order in the file decides: if several processes create the same name at once, exactly
// one succeeds. (Except on NFS, which has no append mode. And an editor that saves over a change
// undoes it.)
//
// Durability. A change that was reported as done is on the disk. One that failed with `changed` or
// `io` may or may not have been made. List the tokens to find out.

/** The maximum of live tokens. For more callers, use JWTs. */
export const liveTokensMax = 1000;

/**
 * Creates a token. It is returned once and cannot be shown again, because the file stores its
 * digest.
 *
 * @throws {TokenFileError} Any code but `unknown_name`.
 */
export async function createToken(file: string, name: string): Promise<string> {
  assertTokenName(name);
  const token = mintToken();
  const digest = digestToken(token).toString("hex");
  await asTokenFileError(file, () => makeDirectory(dirname(resolve(file))));
  const event: TokenEvent = { kind: "create", name, digest, createdAt: new Date().toISOString() };
  await append(file, event, (log, bytes) => {
    if (log.live.has(name)) throw nameInUse(file, name);
    if (bytes > createBytesMax || log.live.size >= liveTokensMax) throw full(file);
  });
  // Another process may have been faster, or an editor may have replaced the file.
  const { log } = await readTokenFile(file);
  if (log.created.has(digest)) return token;
  throw log.live.has(name) ? nameInUse(file, name) : changedMeanwhile(file);
}

/**
 * The live tokens, in the order of their creation. Empty if there is no file.
 *
 * @throws {TokenFileError} `malformed`, or what {@link readTokenFile} throws.
 */
export async function listTokens(file: string): Promise<readonly TokenRecord[]> {
  const { log } = await readTokenFile(file);
  assertSound(file, log);
  return [...log.live.values()];
}

/**
 * Revokes the live token with this name. Servers that watch the file reject it well within a
 * second. Its name can be used again.
 *
 * @throws {TokenFileError} Any code but `name_in_use`.
 */
export async function revokeToken(file: string, name: string): Promise<void> {
  assertTokenName(name);
  const event: TokenEvent = { kind: "revoke", name, at: new Date().toISOString() };
  const revoked = (await listTokens(file)).find((token) => token.name === name);
  if (revoked === undefined) throw unknownName(file, name);
  await append(file, event, () => {});
  // An editor may have replaced the file.
  const { log } = await readTokenFile(file);
  if (log.live.get(name)?.digest === revoked.digest) throw changedMeanwhile(file);
}

/**
 * Reserves the last 128 KiB for revocations, enough for {@link liveTokensMax} of the longest names.
 */
const createBytesMax = tokenFileBytesMax - 128 * 1024;

/**
 * @param assertAllowed Called with the log and the size of the file in bytes, before anything is
 * written.
 */
async function append(
  file: string,
  event: TokenEvent,
  assertAllowed: (log: TokenLog, bytes: number) => void,
): Promise<void> {
  const creates = event.kind === "create";
  const flags = constants.O_RDWR | constants.O_APPEND | (creates ? constants.O_CREAT : 0);
  await asTokenFileError(file, async () => {
    const handle = await open(file, flags, 0o600);
    try {
      const { log } = await readOpenTokenFile(file, handle);
      assertSound(file, log);
      assertAllowed(log, (await handle.stat()).size);
      const line = Buffer.from(log.tail + formatTokenEvent(event));
      const { bytesWritten } = await handle.write(line);
      // Part of a line is harmless, see TokenLog. The rest might land after another process's line.
      if (bytesWritten !== line.length) throw new Error("only part of the line was written");
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (creates) await syncDirectory(dirname(file));
  });
}

/** Creates a directory and its parents, each durable in its own parent. */
async function makeDirectory(directory: string): Promise<void> {
  const topmost = await mkdir(directory, { recursive: true, mode: 0o700 });
  if (topmost === undefined) return;
  const end = dirname(topmost);
  for (let made = directory; made !== end; made = dirname(made)) {
    await syncDirectory(dirname(made));
  }
}

async function syncDirectory(directory: string): Promise<void> {
  // Windows cannot open a directory, and needs no fsync for one.
  if (process.platform === "win32") return;
  const handle = await open(directory, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function assertTokenName(name: string): void {
  if (isTokenName(name)) return;
  const rule = "1 to 64 letters, digits, dots, underscores and hyphens";
  throw new TokenFileError("invalid_name", `a token name has ${rule}`);
}

function nameInUse(file: string, name: string): TokenFileError {
  return new TokenFileError(
    "name_in_use",
    `${file}: a token named ${name} already exists; choose another name`,
  );
}

function unknownName(file: string, name: string): TokenFileError {
  return new TokenFileError("unknown_name", `${file}: no token is named ${name}`);
}

function full(file: string): TokenFileError {
  const limits = `${liveTokensMax} tokens or ${createBytesMax} bytes`;
  const advice = "revoke tokens, or delete the lines of names that are revoked";
  return new TokenFileError("full", `${file}: is full (${limits}); ${advice}`);
}
