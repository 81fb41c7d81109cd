import type { Mutant } from "./mutant.ts";

/** Breaks an SQLite store's handling of disk errors. */
export const ioMutants: readonly Mutant[] = [
  {
    name: "goes on after a failed sync",
    file: "src/store/sqlite/failure.ts",
    find: '  "SQLITE_FULL",\n',
    replace: '  "SQLITE_FULL",\n  "SQLITE_IOERR_FSYNC",\n',
    campaign: "io",
  },
  {
    name: "a full disk is final",
    file: "src/store/sqlite/failure.ts",
    find: '  "SQLITE_FULL",\n',
    replace: "",
    campaign: "io",
  },
  {
    name: "a commit that failed is acknowledged",
    file: "src/store/sqlite/worker.ts",
    find: 'if (mayContinue(error)) reply({ kind: "failed", failure: describe(error) });',
    replace: 'if (mayContinue(error)) reply({ kind: "done", taken: [] });',
    campaign: "io",
  },
  {
    name: "a database that may only be read is opened",
    file: "src/store/sqlite/database.ts",
    find: '  db.exec("DELETE FROM plants WHERE false");\n',
    replace: "",
    campaign: "test/store/sqlite-read-only.mocked.test.ts",
  },
  {
    name: "a full disk with small blocks kills the process",
    file: "src/store/sqlite/room.ts",
    find: "if (statfsSync(path).bsize >= pageBytes ||",
    replace: "if (pages >= 0 ||",
    campaign: "test/store/full-disk.test.ts",
  },
  {
    name: "a full disk prevents the start",
    file: "src/store/sqlite/worker.ts",
    find: 'code === "SQLITE_FULL" || (isFull(code) && !hasRoom(existsSync(path) ? path : dirname(path)))',
    replace: "false",
    campaign: "test/store/full-disk.test.ts",
  },
  {
    name: "a start goes on after an error of the disk",
    file: "src/store/sqlite/worker.ts",
    find: "(isFull(code) && !hasRoom(existsSync(path) ? path : dirname(path)))",
    replace: "isFull(code)",
    campaign: "io",
  },
];
