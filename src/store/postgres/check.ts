import { randomBytes } from "node:crypto";
import { plantFrom } from "../../plant.ts";
import { type Finding, finding } from "../options.ts";
import { describeHost, type PostgresAddress } from "./address.ts";
import { connectToAny, withTimelines } from "./connect.ts";
import { openError } from "./failure.ts";
import { defaultPostgresLimits, safetySettings } from "./limits.ts";
import { assertNodes, type Node, readNodes } from "./nodes.ts";
import { coordinator, readPlacement } from "./placement.ts";
import { assertTable, migrations, readSchemaVersion } from "./schema.ts";
import type { Session } from "./session.ts";
import { readSettings } from "./settings.ts";
import { probeWrite, tryInsert } from "./writer.ts";

/** Makes the same checks as opening the store, and more that an operator may want to know. */
export async function* checkPostgres(address: PostgresAddress, limits = defaultPostgresLimits) {
  let session: Session | undefined;
  let subject = "connection";
  try {
    // Connecting checks the encoding, that the host accepts writes, and the safety settings.
    session = await connectToAny(await withTimelines(address, limits), limits);
    yield finding("ok", subject, `${describeHost(session.host)} accepts writes, in UTF8`);
    subject = "settings";
    yield* settingsOf(session);
    subject = "nodes";
    const nodes = await readNodes(session);
    yield* nodesOf(nodes, address);
    subject = "schema";
    const version = await readSchemaVersion(session);
    const text = `version ${version} of ${migrations.length}`;
    if (version < migrations.length) {
      const [row] = await session.query(mayCreate);
      const level = row?.[0] === true ? "warn" : "fail";
      const advice = "the next start migrates it, or run: plant-store migrate up";
      const refusal = "this user may not create tables; run plant-store migrate up as another";
      yield finding(level, subject, `${text}; ${level === "warn" ? advice : refusal}`);
    } else {
      yield finding("ok", subject, text);
    }
    if (version === 0) return;
    subject = "table";
    await assertTable(session);
    await tryInsert(session);
    // Commits as creates do, which may wait for a standby. In a cluster, a row's node may be away.
    const id = randomBytes(8).readBigInt64BE(); // of a row that nobody locks
    const tries = nodes.length > 0 ? [] : [[plantFrom(id, () => "")]];
    await probeWrite(session, tries, limits.statementTimeoutMs);
    yield finding("ok", subject, "the table plants has its columns, is logged and can be written");
    subject = "nodes";
    if (nodes.length > 0) yield* distributionOf(session, address);
  } catch (error) {
    yield finding("fail", subject, openError(error).message);
  } finally {
    await session?.close();
  }
}

const mayCreate = "SELECT has_schema_privilege(to_regnamespace('@schema@')::oid, 'CREATE')";

const warn = (text: string) => finding("warn", "nodes", text);

function* nodesOf(nodes: readonly Node[], address: PostgresAddress): Generator<Finding> {
  if (nodes.length === 0) return;
  assertNodes(nodes, address);
  for (const { name, hasShards, settings } of nodes) {
    if (settings === undefined) yield warn(`the coordinator cannot reach ${name}`);
    if (!hasShards) continue;
    const unable = `${name} cannot move shards while plants are created`;
    if (/replica|minimal/.test(settings?.get("wal_level") ?? "")) {
      yield warn(`${unable}; set wal_level=logical there`);
    }
    if (settings?.get("output_plugin_libraries")?.split(",").includes("citus") === false) {
      yield warn(`${unable}; add citus to output_plugin_libraries there`);
    }
  }
  const answered = nodes.filter(({ settings }) => settings !== undefined);
  yield finding("ok", "nodes", `${answered.length} have safe settings`);
}

/** Whether the plants are on workers, and can be written there directly. */
async function* distributionOf(
  session: Session,
  address: PostgresAddress,
): AsyncGenerator<Finding> {
  const placement = await readPlacement(session);
  if (placement === undefined) {
    yield warn("plants is not distributed; run SELECT create_distributed_table('plants', 'id')");
    return;
  }
  if ([...placement.nodes.keys()].join() === coordinator) {
    yield warn(
      "all plants are on the coordinator; add workers with citus_add_node, and run SELECT citus_drain_node for the coordinator",
    );
  }
  for (const [name, host] of placement.hosts) {
    if (host === undefined) {
      yield warn(`the node of group ${name} has no metadata, so it accepts no plants directly`);
      continue;
    }
    try {
      const own = await connectToAny({ ...address, hosts: [host] }, defaultPostgresLimits);
      await own.close();
      yield finding("ok", "nodes", `${describeHost(host)} can be reached directly`);
    } catch (error) {
      yield warn(`${describeHost(host)} is not written to directly: ${openError(error).message}`);
    }
  }
}

async function* settingsOf(session: Session): AsyncGenerator<Finding> {
  const names = ["server_version", ...safetySettings];
  for (const [name, value] of await session.query(readSettings, [names])) {
    if (name === "server_version") {
      yield finding("ok", "PostgreSQL", String(value));
    } else if (value === "off") {
      const risk = "as allow_unsafe accepts; a crash of the machine may lose plants";
      yield finding("warn", "settings", `${name} is off, ${risk}`);
    } else {
      yield finding("ok", "settings", `${name} is ${value ?? "unknown there"}`);
    }
  }
}
