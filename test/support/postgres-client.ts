import pg from "pg";

/** A separate session. Closed at the end of an `await using`, which releases its locks. */
export interface PostgresClient extends AsyncDisposable {
  query(sql: string): Promise<unknown>;
}

export async function openPostgresClient(url: string): Promise<PostgresClient> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  return {
    query: (sql) => client.query(sql),
    [Symbol.asyncDispose]: () => client.end(),
  };
}
