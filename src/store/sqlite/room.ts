import { statfsSync } from "node:fs";

/** The pages of SQLite's files. */
export const pageBytes = 4096;

/** What the index of a long log needs, and what other programs may write meanwhile. */
const bytesMin = 1024 * 1024;

/** The disk is full, with the code of SQLite for it. */
class DiskFull extends Error {
  override readonly name = "DiskFull";
  readonly errcode = 13;
}

/**
 * Call before SQLite writes. It reserves a page of its wal-index by writing the last byte, and
 * writes the rest through a memory map. If blocks are smaller and the disk is full, the kernel ends
 * the process for that (SIGBUS).
 *
 * @param path On the disk.
 * @param pages That will be written.
 * @throws An error with the code SQLITE_FULL.
 */
export function assertRoom(path: string, pages = 0): void {
  if (statfsSync(path).bsize >= pageBytes || hasRoom(path, pages)) return;
  throw new DiskFull("the disk is almost full");
}

/** Whether some space is left for the index, and for these pages. */
export function hasRoom(path: string, pages = 0): boolean {
  const { bsize, bavail } = statfsSync(path);
  return bavail * bsize >= bytesMin + pages * pageBytes;
}
