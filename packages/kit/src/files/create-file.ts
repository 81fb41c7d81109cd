import fs from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * Creates a file and its directories for their owner alone, unless they exist.
 * @returns The directories that did not exist, the outermost first. They are not synced yet.
 */
export function createFile(file: string): readonly string[] {
  const made = makeDirectory(dirname(resolve(file)));
  if (process.getuid?.() === 0) createForOwner(file);
  if (!fs.existsSync(file)) fs.closeSync(fs.openSync(file, "a", 0o600));
  return made;
}

/** Node's recursive mkdir never ends where the system refuses a directory with ENOENT, as in /proc. */
function makeDirectory(directory: string): readonly string[] {
  if (fs.existsSync(directory)) return [];
  const parent = dirname(directory);
  const made = parent === directory ? [] : makeDirectory(parent); // a drive of Windows may be missing
  try {
    fs.mkdirSync(directory, 0o700);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return [...made, directory];
}

/** As root on Linux, for the owner of its folder, whose server has to open it. */
function createForOwner(file: string): void {
  try {
    withFile(file, "ax", (fd) => {
      // That folder is where the file is, even if somebody puts another in the way meanwhile.
      const { uid, gid } = fs.statSync(dirname(fs.readlinkSync(`/proc/self/fd/${fd}`)));
      fs.fchownSync(fd, uid, gid);
    });
  } catch {
    // It stays root's, as root may not give it away. Other failures come back in createFile.
  }
}

/** Makes the names in a directory durable. */
export function syncDirectory(directory: string): void {
  // Windows cannot open a directory; NTFS journals its entries.
  if (process.platform === "win32") return;
  try {
    withFile(directory, "r", fs.fsyncSync);
  } catch (error) {
    // We may use a directory that we may not read. Some file systems cannot sync any.
    if (!/^E(ACCES|INVAL)$/.test(`${(error as NodeJS.ErrnoException).code}`)) throw error;
  }
}

export function withFile<T>(file: string, flags: string | number, work: (fd: number) => T): T {
  const fd = fs.openSync(file, flags, 0o600);
  try {
    return work(fd);
  } finally {
    fs.closeSync(fd);
  }
}
