import type { DatabaseSync, SQLInputValue } from "node:sqlite";

/** Rows as plain objects, with all integers as bigint. */
export function readRows<Row>(db: DatabaseSync, sql: string, ...values: SQLInputValue[]): Row[] {
  const statement = db.prepare(sql);
  statement.setReadBigInts(true);
  return statement.all(...values).map((row) => ({ ...row })) as Row[];
}
