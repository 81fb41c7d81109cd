import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const events = ["preinstall", "install", "postinstall"] as const;

/**
 * What npm would run when it installs the package in this folder. A `binding.gyp` counts whatever
 * package.json says: from a lock, npm runs `node-gyp rebuild` for it even under `gypfile: false`.
 */
export function findInstallCode(folder: string): readonly string[] {
  const manifest = join(folder, "package.json");
  // A package for another platform is not there.
  if (!existsSync(manifest)) return [];
  const { scripts = {} } = JSON.parse(readFileSync(manifest, "utf8"));
  const written = events.filter((event) => scripts[event] !== undefined);
  return existsSync(join(folder, "binding.gyp")) ? [...written, "binding.gyp"] : written;
}
