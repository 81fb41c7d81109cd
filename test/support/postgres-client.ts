import pg from "pg";

/** A separate session. Closed at the end of an `await using`, which releases its locks. */
export async function openPostgresClient(url: string) {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  return {
    query: async (sql: string) => (await client.query<Record<string, unknown>>(sql)).rows,
    [Symbol.asyncDispose]: () => client.end(),
  };
}

export async function queryPostgres(url: string, sql: string) {
  await using client = await openPostgresClient(url);
  return await client.query(sql);
}
