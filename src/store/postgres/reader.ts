import { type NewPlant, plantFrom, type TextField, textFields } from "../../plant.ts";
import { StoreError } from "../open-error.ts";
import type { PlantReader } from "../plant-reader.ts";
import { describeHost } from "./address.ts";
import { failureCode } from "./failure.ts";
import type { PostgresLimits } from "./limits.ts";
import type { Session } from "./session.ts";

/**
 * Reads in one transaction. Neither the server nor vacuum waits for it. The lock comes before the
 * snapshot: in an older one, a table that ALTER TABLE or TRUNCATE has rewritten since is empty.
 * Where row-level security would hide plants, a query fails instead. Between two pages, writing may
 * take longer than limits of a database or a role allow.
 * @param session Owned by the reader from now on.
 */
export async function beginReading(
  session: Session,
  { readTimeoutMs: timeoutMs }: PostgresLimits,
): Promise<PlantReader> {
  const begin = `
    BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = ${timeoutMs};
    SET LOCAL row_security = off; SET LOCAL idle_in_transaction_session_timeout = 0;
    LOCK TABLE @schema@.plants IN ACCESS SHARE MODE`;
  await session.execute(begin, timeoutMs);
  await session.query(setTransactionTimeout, [], timeoutMs);
  const [row] = await session.query("SELECT count(*) FROM @schema@.plants", [], timeoutMs);
  return {
    count: Number(row?.[0]),
    async readPage(from, { rowsMax, bytesMax }) {
      const values = [from, rowsMax, bytesMax].map(String);
      try {
        return (await session.query(select, values, timeoutMs)).map(toPlant);
      } catch (cause) {
        const problem = `the database at ${describeHost(session.host)} could not be read`;
        throw new StoreError(`${problem} (${failureCode(cause)})`, { cause });
      }
    },
    place: async () => String((await session.query(selectPlace))[0]?.[0]),
    [Symbol.asyncDispose]: () => session.close(),
  };
}

/** A copy of the files is another store, so the start of the server counts. */
const selectPlace = `
  SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), oid, '@schema@.plants'::regclass::oid)
  FROM pg_database WHERE datname = current_database()`;

/** From PostgreSQL 17 on. It changes no setting that is not there. */
const setTransactionTimeout =
  "SELECT set_config(name, '0', true) FROM pg_settings WHERE name = 'transaction_timeout'";

const columns = ["id", ...textFields].join(", ");
const textBytes = textFields.map((field) => `coalesce(octet_length(${field}), 0)`).join(" + ");

/** The size of a text that is stored out of line is known without fetching it. */
const select = `
  SELECT ${columns} FROM (
    SELECT ${columns}, row_number() OVER ids AS place,
      sum(${textBytes}) OVER ids AS bytes
    FROM (
      SELECT ${columns} FROM @schema@.plants WHERE id >= $1::bigint ORDER BY id LIMIT $2::bigint
    ) AS page
    WINDOW ids AS (ORDER BY id ROWS UNBOUNDED PRECEDING)
  ) AS page
  WHERE bytes <= $3::bigint OR place = 1
  ORDER BY id`;

function toPlant([id, ...texts]: readonly unknown[]): NewPlant {
  const textOf = (field: TextField) => texts[textFields.indexOf(field)] as string | null;
  return plantFrom(BigInt(String(id)), textOf);
}
