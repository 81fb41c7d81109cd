import pg from "pg";

/** A separate session. Closed at the end of an `await using`, which releases its locks. */
export interface PostgresClient extends AsyncDisposable {
  query(sql: string): Promise<readonly Record<string, unknown>[]>;
}

export async function openPostgresClient(url: string): Promise<PostgresClient> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  return {
    query: async (sql) => (await client.query<Record<string, unknown>>(sql)).rows,
    [Symbol.asyncDispose]: () => client.end(),
  };
}

/** Runs SQL in its own session. */
export async function queryPostgres(url: string, sql: string) {
  await using client = await openPostgresClient(url);
  return await client.query(sql);
}
