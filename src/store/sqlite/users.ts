import { statSync } from "node:fs";
import type { StoreOptions } from "../options.ts";
import { pageBytes, readProc } from "./driver.ts";
import { realPath } from "./files.ts";

/** Four times what usually waits for a checkpoint. A reader has been open for long. */
const waitingPagesMax = 16_384;

/** @returns Call it with the pages of the log that are not in the database yet. */
export function tellOfUsers(
  path: string,
  { observer, onNotice }: Pick<StoreOptions, "observer" | "onNotice">,
): (waitingPages: number) => void {
  const servers = describeUsers(path, "servers");
  if (servers !== "") {
    onNotice?.(`another server has ${path} open; run one server for each file${servers}`);
  }
  let isLong = false;
  return (waitingPages) => {
    observer?.logChanged?.(waitingPages * pageBytes);
    if (waitingPages > waitingPagesMax === isLong) return;
    isLong = !isLong;
    const readers = describeUsers(path, "readers");
    onNotice?.(
      isLong
        ? `the log of ${path} grows, because a program keeps reading the store${readers}`
        : `the log of ${path} has been copied to the store`,
    );
  };
}

/**
 * Names other processes that have a database open, or read it now, by their locks on the index of
 * the log (sqlite.org/walformat.html). On Linux, not in other containers. @returns The end of a
 * sentence.
 */
export function describeUsers(path: string, what: "servers" | "readers"): string {
  if (process.platform !== "linux") return "";
  const index = statSync(`${realPath(path)}-shm`, { throwIfNoEntry: false })?.ino;
  const locks = new RegExp(`POSIX .* (\\d+) [^ ]+:${index} (\\d+) \\d+$`, "gm");
  const pids = new Set<string>();
  for (const [, pid = "", byte] of readProc("locks").matchAll(locks)) {
    // All that have it open lock byte 128, and readers one before it.
    const isReader = byte !== "128";
    const isServer = readProc(`${pid}/cmdline`).split("\0").includes("serve");
    if (Number(pid) !== process.pid && (what === "servers" ? isServer : isReader)) pids.add(pid);
  }
  const names = [...pids].map((pid) => `process ${pid} (${readProc(`${pid}/comm`).trim()})`);
  return names.length === 0 ? "" : `: ${names.join(", ")}`;
}
