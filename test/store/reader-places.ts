import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { NewPlant } from "../../src/plant.ts";
import { openStore } from "../../src/store/open.ts";
import type { PostgresDatabases } from "../support/postgres-databases.ts";
import { hasPostgres } from "../support/postgres-server.ts";
import { readRows } from "../support/sqlite-rows.ts";
import { readPlants } from "./postgres/fresh.ts";
import { temporaryFolder } from "./temporary.ts";

/** A location for a store that does not exist yet. */
export interface FreshPlace {
  readonly url: string;
  /** Reads its plants as an operator would. */
  read(): Promise<readonly NewPlant[]>;
  /** Runs SQL there, bypassing the store. */
  execute(sql: string): Promise<void>;
}

export interface PlaceKind {
  readonly name: "SQLite" | "PostgreSQL";
  readonly isMissing: boolean;
  fresh(): Promise<FreshPlace>;
}

/** One kind for each engine. PostgreSQL databases are on this server. */
export function placeKinds(server: { readonly current: PostgresDatabases }): readonly PlaceKind[] {
  return [
    { name: "SQLite", isMissing: false, fresh: freshFile },
    {
      name: "PostgreSQL",
      isMissing: !hasPostgres,
      async fresh() {
        const database = await server.current.createDatabase();
        return {
          url: server.current.url(database),
          read: () => readPlants(server.current, database),
          execute: async (sql) => void (await server.current.query(sql, database)),
        };
      },
    },
  ];
}

async function freshFile(): Promise<FreshPlace> {
  const path = join(await temporaryFolder(), "plants.db");
  return {
    url: `sqlite:${path}`,
    async read() {
      const db = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
      const rows = readRows<{ id: bigint; name: string; tag: string | null }>(
        db,
        "SELECT id, name, tag FROM plants ORDER BY id",
      );
      db.close();
      return rows.map((row) => ({ ...row, tag: row.tag ?? undefined }));
    },
    async execute(sql) {
      const db = new DatabaseSync(path, { timeout: 5000 });
      db.exec(sql);
      db.close();
    },
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
 * In the order of their ids: values that a double, a collation or a careless reader would change.
 */
export const exactPlants: readonly NewPlant[] = [
  { id: -(2n ** 63n), name: "", tag: "" },
  { id: -(2n ** 63n) + 1n, name: "NULL", tag: undefined },
  { id: -9007199254740993n, name: "undefined", tag: "null" },
  { id: -9007199254740992n, name: '{a,"b\\\\",}', tag: "{}" },
  { id: -1n, name: "\uffff", tag: "\ufffd" },
  { id: 0n, name: "\u00e9", tag: "e\u0301" },
  { id: 1n, name: "\ufeffa", tag: "\u{10ffff}" },
  { id: 9007199254740992n, name: "a\r\nb ", tag: "\u0001" },
  { id: 9007199254740993n, name: "\u{1f469}\u200d\u{1f33e}", tag: "O'Hara" },
  { id: 2n ** 63n - 2n, name: "\\x00 \\u0000", tag: undefined },
  { id: 2n ** 63n - 1n, name: "\u{1f331}".repeat(1000), tag: "" },
];
