import type { Finding } from "../finding.ts";
import { describeHost, type PostgresAddress, safetySettings } from "./address.ts";
import { connectToAny } from "./connect.ts";
import type { PostgresLimits } from "./limits.ts";
import { assertNodes, readNodes } from "./nodes.ts";
import { openError } from "./open-failure.ts";
import { assertTable, migrations, readSchemaVersion } from "./schema.ts";
import type { Session } from "./session.ts";

/** Makes the same checks as opening the store, and more that an operator may want to know. */
export async function* checkAddress(
  address: PostgresAddress,
  limits: PostgresLimits,
): AsyncGenerator<Finding, void> {
  let session: Session | undefined;
  let subject = "connection";
  try {
    // Connecting checks the encoding, that the host accepts writes, and the safety settings.
    session = await connectToAny(address, limits);
    yield { level: "ok", subject, text: `${describeHost(session.host)} accepts writes, in UTF8` };
    subject = "settings";
    yield* settingsOf(session, limits);
    subject = "nodes";
    yield* nodesOf(session, address, limits);
    subject = "schema";
    const version = await readSchemaVersion(session, limits.connectTimeoutMs);
    const text = `version ${version} of ${migrations.length}`;
    if (version < migrations.length) {
      const advice = "the next start migrates it, or run: plant-store migrate up";
      yield { level: "warn", subject, text: `${text}; ${advice}` };
    } else {
      yield { level: "ok", subject, text };
    }
    if (version === 0) return;
    subject = "table";
    await assertTable(session, limits.connectTimeoutMs);
    yield { level: "ok", subject, text: "the table plants has its columns and is logged" };
  } catch (error) {
    yield { level: "fail", subject, text: openError(error).message };
  } finally {
    await session?.close(limits.connectTimeoutMs);
  }
}

async function* nodesOf(
  session: Session,
  address: PostgresAddress,
  { connectTimeoutMs }: PostgresLimits,
): AsyncGenerator<Finding> {
  const nodes = await readNodes(session, connectTimeoutMs);
  if (nodes.length === 0) return;
  assertNodes(nodes, address);
  const answered = nodes.filter(({ settings }) => settings !== undefined);
  const silent = nodes.filter(({ settings }) => settings === undefined);
  for (const { name } of silent) {
    yield { level: "warn", subject: "nodes", text: `the coordinator cannot reach ${name}` };
  }
  yield { level: "ok", subject: "nodes", text: `${answered.length} have safe settings` };
}

const readSettings =
  "SELECT name, current_setting(name, true) FROM unnest($1::text[]) AS wanted (name)";

async function* settingsOf(session: Session, limits: PostgresLimits): AsyncGenerator<Finding> {
  const names = ["server_version", ...safetySettings];
  const rows = await session.query(readSettings, [names], limits.connectTimeoutMs);
  for (const [name, value] of rows) {
    if (name === "server_version") {
      yield { level: "ok", subject: "PostgreSQL", text: String(value) };
    } else if (value === "off") {
      const text = `${name} is off, as allow_unsafe accepts; a crash of the machine may lose plants`;
      yield { level: "warn", subject: "settings", text };
    } else {
      yield { level: "ok", subject: "settings", text: `${name} is ${value ?? "unknown there"}` };
    }
  }
}
