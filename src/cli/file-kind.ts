import { existsSync } from "node:fs";
import { constants, gunzipSync } from "node:zlib";
import { cannot } from "connect-gateway-kit/command/run";
import { readHead } from "../store/sqlite/files.ts";
import { applicationId } from "../store/sqlite/schema.ts";
import { startOfPlants, startOfRejects } from "../transfer/format.ts";

const headBytes = 512;
/** Of a database. */
const headerBytes = 100;
const walVersion = 2;

/** Describes a regular file by its first bytes: "it is …". @throws {CommandFailure} */
export function kindOfFile(path: string): string {
  const head = readStart(path);
  if (head.length === 0) return "empty";
  if (head.toString("latin1", 0, 16) === "SQLite format 3\0") return kindOfDatabase(path, head);
  const unzipped = unzipHead(head);
  if (unzipped !== undefined) {
    return unzipped === "" || startOfPlants.test(unzipped) ? plants : another;
  }
  const text = head.toString("utf8").replace(/^\ufeff/, "");
  return texts.find(([start]) => start.test(text))?.[1] ?? another;
}

const plants = "a file of plants";
const another = "a file of another kind";

/** A backup is one file. It becomes a store with a log as soon as a server starts on it. */
function kindOfDatabase(path: string, head: Buffer): string {
  if (head.length < headerBytes || head.readInt32BE(68) !== applicationId)
    return "a database of another program";
  return head[18] === walVersion || existsSync(`${path}-wal`) ? "a store" : "a backup";
}

const texts: readonly (readonly [RegExp, string])[] = [
  [startOfPlants, plants],
  [startOfRejects, "a file of rejected rows"],
  [/^(\s|#[^\n]*(\n|$))*((create|revoke) \S|$)/, "a token file"],
  [/-----BEGIN /, "a key or a certificate"],
];

function unzipHead(head: Buffer): string | undefined {
  try {
    return gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH }).toString("utf8");
  } catch {
    return undefined;
  }
}

function readStart(path: string): Buffer {
  try {
    return readHead(path, headBytes);
  } catch (error) {
    throw cannot("read", path, (error as Error).cause);
  }
}
