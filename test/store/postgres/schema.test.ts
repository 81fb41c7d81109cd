/** How existing tables are classified, even if another process creates them at the same time. */
import { expect, test } from "vitest";
import { readSchemaVersion } from "../../../src/store/postgres/schema.ts";
import type { Session } from "../../../src/store/postgres/session.ts";

/** A session whose queries return these answers, one row each. */
function answering(...answers: readonly (readonly unknown[])[]): Session {
  const left = [...answers];
  const query = async () => {
    const row = left.shift();
    if (row === undefined) throw new Error("a query too many");
    return [row];
  };
  return { host: { name: "db", port: 5432 }, query } as unknown as Session;
}

test("tables that another process creates between two lookups are ours", async () => {
  const session = answering([false, true], [true, true], ["1"]);
  expect(await readSchemaVersion(session, 1000)).toBe(1);
});

test("a plants table without the other one belongs to another program", async () => {
  const session = answering([false, true], [false, true]);
  await expect(readSchemaVersion(session, 1000)).rejects.toMatchObject({ code: "foreign" });
});
