import { readFile, writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import type { NewPlant } from "../../src/plant.ts";
import { openStore } from "../support/open-store.ts";
import type { PostgresDatabases } from "../support/postgres-databases.ts";
import { hasPostgres } from "../support/postgres-server.ts";
import { readRows } from "../support/sqlite-rows.ts";
import { openDatabase, selectPlants, toPlants } from "./postgres/fresh.ts";
import { temporaryPath } from "./temporary.ts";

export type PlaceKind = ReturnType<typeof placeKinds>[number];

/** One kind for each engine. PostgreSQL databases are on this server. */
export function placeKinds(server: { readonly current: PostgresDatabases }) {
  async function freshDatabase() {
    const { url, kept, query } = await openDatabase(server.current);
    return { url, read: kept, execute: query };
  }
  return [
    { name: "SQLite", isMissing: false, fresh: freshFile },
    { name: "PostgreSQL", isMissing: !hasPostgres, fresh: freshDatabase },
  ];
}

/** Where there is no store yet, and what an operator can do there. */
export async function freshFile() {
  const path = await temporaryPath();
  function run<T>(readOnly: boolean, work: (db: DatabaseSync) => T): T {
    const db = new DatabaseSync(path, { readOnly, timeout: 5000 });
    try {
      return work(db);
    } finally {
      db.close();
    }
  }
  return {
    url: `sqlite:${path}`,
    read: async () => toPlants(run(true, (db) => readRows(db, selectPlants))),
    execute: async (sql: string): Promise<unknown> => run(false, (db) => db.exec(sql)),
  };
}

/** Creates the store and these plants in it. */
export async function seed(url: string, plants: readonly NewPlant[]): Promise<void> {
  const store = await openStore(url);
  try {
    await Promise.all(plants.map((plant) => store.create(plant)));
  } finally {
    await store.close();
  }
}

/**
 * Damages a page of the table, which has some 3,000 plants. Without its header, they cannot be
 * counted; without the places of its rows, they can.
 */
export async function damageLeaf(path: string, what: "its header" | "its rows"): Promise<void> {
  const bytes = await readFile(path);
  const page = 4096 * 12;
  bytes.fill(0xaa, page + (what === "its header" ? 0 : 8), page + 64);
  await writeFile(path, bytes);
}

/**
 * In the order of their ids: values that a double, a collation or a careless reader would change.
 */
export const exactPlants: readonly NewPlant[] = [
  { id: -(2n ** 63n), name: "", tag: "" },
  { id: -(2n ** 63n) + 1n, name: "NULL\ufffd" },
  { id: -9007199254740993n, name: "undefined", tag: "null" },
  { id: -9007199254740992n, name: '{a,"b\\\\",}', tag: "{}" },
  { id: -1n, name: "\ufeff\uffff", tag: "\ufffd" },
  { id: 0n, name: "\u00e9", tag: "e\u0301" },
  { id: 1n, name: "\ufeffa", tag: "\u{10ffff}" },
  { id: 9007199254740992n, name: "a\r\nb ", tag: "\u0001" },
  { id: 9007199254740993n, name: "\u{1f469}\u200d\u{1f33e}", tag: "O'Hara" },
  { id: 2n ** 63n - 2n, name: "\\x00 \\u0000" },
  { id: 2n ** 63n - 1n, name: "\u{1f331}".repeat(1000), tag: "" },
];
