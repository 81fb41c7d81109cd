import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { constants, gunzipSync } from "node:zlib";
import { cannot } from "connect-gateway-proxy/command";
import { applicationId } from "../store/sqlite/schema.ts";
import { startOfPlants } from "../transfer/format.ts";

const headBytes = 512;
/** Of a database. */
const headerBytes = 100;
const walVersion = 2;

/**
 * Describes a regular file by its first bytes, to complete the sentence "it is …".
 *
 * @throws {CommandFailure} If it cannot be read.
 */
export function kindOfFile(path: string): string {
  const head = readHead(path);
  if (head.length === 0) return "empty";
  if (head.toString("latin1", 0, 16) === "SQLite format 3\0") return kindOfDatabase(path, head);
  const text = unzipHead(head)
    .toString("utf8")
    .replace(/^\ufeff/, "");
  return texts.find(([start]) => start.test(text))?.[1] ?? "a file of another kind";
}

/** A backup is one file. It becomes a store with a log as soon as a server starts on it. */
function kindOfDatabase(path: string, head: Buffer): string {
  if (head.length < headerBytes || head.readInt32BE(68) !== applicationId)
    return "a database of another program";
  return head[18] === walVersion || existsSync(`${path}-wal`) ? "a store" : "a backup";
}

const texts: readonly (readonly [RegExp, string])[] = [
  [startOfPlants, "a file of plants"],
  [/^(\s|#[^\n]*(\n|$))*((create|revoke) \S|$)/, "a token file"],
  [/-----BEGIN /, "a key or a certificate"],
];

/** As it is if it is not of gzip. */
function unzipHead(head: Buffer): Buffer {
  try {
    return gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH });
  } catch {
    return head;
  }
}

function readHead(path: string): Buffer {
  try {
    const descriptor = openSync(path, "r");
    try {
      const head = Buffer.alloc(headBytes);
      return head.subarray(0, readSync(descriptor, head, 0, headBytes, 0));
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw cannot("read", path, error);
  }
}
