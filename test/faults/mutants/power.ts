import type { Mutant } from "./mutant.ts";

/** Breaks what protects an SQLite store from a power failure. */
export const powerMutants: readonly Mutant[] = [
  {
    name: "SQLite syncs at checkpoints alone",
    file: "src/store/sqlite/database.ts",
    find: "synchronous: 2,",
    replace: "synchronous: 1,",
    campaign: "power",
  },
  {
    name: "SQLite never syncs",
    file: "src/store/sqlite/database.ts",
    find: "synchronous: 2,",
    replace: "synchronous: 0,",
    campaign: "power",
  },
  {
    name: "acknowledged before the commit",
    file: "src/store/sqlite/worker.ts",
    find: "answer(() => write(request.rows));",
    replace: `
        reply({ kind: "done", taken: [] });
        write(request.rows);`,
    campaign: "power",
  },
  {
    name: "the folders of a new store are not synced",
    file: "src/store/sqlite/database.ts",
    find: "    syncDirectories(path);\n",
    replace: "",
    campaign: "power",
  },
  {
    name: "only the folder of the file is synced, not those above it",
    file: "src/store/sqlite/files.ts",
    find: "while (directory !== dirname(directory));",
    replace: "while (false);",
    campaign: "power",
  },
  {
    name: "what a killed process left unsynced is confirmed as it is",
    file: "src/store/sqlite/database.ts",
    find: "    settle(db, path, timeoutMs);\n",
    replace: "",
    campaign: "power",
  },
  {
    name: "a log that may be in memory alone is taken for safe",
    file: "src/store/sqlite/database.ts",
    find: "inTransaction(db, () => rewriteFile(",
    replace: "inTransaction(db, () => existsSync(",
    campaign: "power",
  },
  {
    name: "the size of a log that may be in memory alone is taken for safe",
    file: "src/store/sqlite/files.ts",
    find: "      ftruncateSync(descriptor, position + 1);\n      ftruncateSync(descriptor, position);\n",
    replace: "",
    campaign: "power",
  },
  {
    name: "an empty file that was not yet written to is taken for another program's",
    file: "src/store/sqlite/files.ts",
    find: "header.every((byte) => byte === 0)",
    replace: "false",
    campaign: "power",
  },
  {
    name: "the database is made ours in a transaction of its own",
    file: "src/store/sqlite/schema.ts",
    find: "while (inTransaction(db, () => migrateOnce(db)));",
    replace: "while (migrateOnce(db));",
    campaign: "power",
  },
];
