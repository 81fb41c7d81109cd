import { describe, expect, test } from "vitest";
import { findPostgres } from "./postgres-installation.ts";
import { hasPostgres, startPostgres } from "./postgres-server.ts";

test.skipIf(!hasPostgres)("there is a PostgreSQL for the tests on this platform", () => {
  expect(findPostgres().length).toBeGreaterThan(0);
});

// If the machine has its own PostgreSQL, no other test runs npm's.
describe.each(findPostgres().slice(-1))("the PostgreSQL of $name", (installation) => {
  test("starts, keeps a database through a crash, and is gone at the end", async () => {
    await using server = await startPostgres({ installation });
    const database = await server.createDatabase();
    await server.query("CREATE TABLE kept AS SELECT 1 AS one", database);
    await server.stop("immediate");
    await server.start();
    expect(await server.query("TABLE kept", database)).toEqual([{ one: 1 }]);
  });
});
