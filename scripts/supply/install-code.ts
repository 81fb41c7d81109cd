import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const events = ["preinstall", "install", "postinstall"] as const;

/**
 * What npm would run when it installs the package in this directory. A `binding.gyp` counts
 * whatever package.json says: from a lock, npm runs `node-gyp rebuild` for it even with
 * `gypfile: false`.
 */
export function findInstallCode(folder: string): readonly string[] {
  const manifest = join(folder, "package.json");
  // Packages for other platforms are not installed.
  if (!existsSync(manifest)) return [];
  const { scripts = {} } = JSON.parse(readFileSync(manifest, "utf8"));
  const written = events.filter((event) => scripts[event] !== undefined);
  return existsSync(join(folder, "binding.gyp")) ? [...written, "binding.gyp"] : written;
}
