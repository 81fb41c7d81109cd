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
    const fd = fs.openSync(file, "ax", 0o600);
    try {
      // That folder is where the file is, even if somebody puts another in the way meanwhile.
      const { uid, gid } = fs.statSync(dirname(fs.readlinkSync(`/proc/self/fd/${fd}`)));
      fs.fchownSync(fd, uid, gid);
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    // It stays root's, as root may not give it away. Other failures come back in createFile.
  }
}
