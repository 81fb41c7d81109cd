/** A small heap and few files, with clients that need more of both. */
import http from "node:http";
import { DatabaseSync } from "node:sqlite";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { spawnServer } from "../../support/child-server.ts";
import { readRows } from "../../support/sqlite-rows.ts";
import { knownToken } from "../../support/test-server.ts";
import { type CampaignResult, count } from "../campaign.ts";
import { type Caller, openCallers, wordFor } from "../load/caller.ts";
import { patienceMs } from "../start-server.ts";
import type { PartOptions } from "./overload.ts";
import { recover } from "./recover.ts";

/**
 * Each has a connection, together more than the server may open. As many again share HTTP/2
 * connections.
 */
const clientCount = 400;

/** Nearly the maximum of a body: all of them together are far more than the heap. */
const name = "字".repeat(300_000);

/** A gigabyte of plants is stored in ten seconds. More would add no information. */
const starvedMsMax = 20_000;

export async function starve({ partMs, log, signal }: PartOptions): Promise<CampaignResult> {
  const tally: Record<string, number> = {};
  const acknowledged: bigint[] = [];
  await using server = await spawnServer({
    env: { NODE_OPTIONS: "--max-old-space-size=256" },
    filesMax: 256,
    startTimeoutMs: patienceMs,
  });
  const end = performance.now() + Math.min(partMs, starvedMsMax);
  let nextId = 1n;

  const callers = openCallers(server.url);
  const askers: readonly ((id: bigint) => Promise<string>)[] = [
    (id) => post(server.url, id),
    ...callers.filter(({ protocol }) => protocol.endsWith("HTTP/2")).map((caller) => over(caller)),
  ];

  async function use(_: unknown, index: number): Promise<void> {
    // Every other one has its own connection.
    const ask = askers[index % 2 === 0 ? 0 : 1 + ((index >> 1) % (askers.length - 1))];
    do {
      const id = nextId++;
      const outcome = (await ask?.(id)) ?? "not asked";
      count(tally, outcome);
      if (outcome === "stored") acknowledged.push(id);
      if (server.process.exitCode !== null) return;
    } while (performance.now() < end && !signal.aborted);
  }

  await Promise.all(Array.from({ length: 2 * clientCount }, use));
  callers[Symbol.dispose]();
  log(`starve: ${JSON.stringify(tally)}`);
  const found = await recover("starve", server);
  const odd = Object.keys(tally).filter(
    (outcome) => !/^(stored|unavailable|deadline|408|cut)$/.test(outcome),
  );
  found.push(...odd.map((outcome) => `starve: ${tally[outcome]} answers were ${outcome}`));
  server.process.kill("SIGTERM");
  const { code } = await within("the end of the server", server.exited, patienceMs);
  if (code !== 0)
    found.push(`starve: the server ended with ${code}: ${server.stderr.text.slice(-1000)}`);
  const stored = readIds(server.database);
  const lost = acknowledged.filter((id) => !stored.has(id)).length;
  if (lost > 0) found.push(`starve: ${lost} plants were acknowledged and are not there`);
  return {
    tried: { "starved requests": Number(nextId) - 1, "starved stored": acknowledged.length },
    found,
  };
}

/** The ids of the plants stored as sent. All plants together are too large for a heap. */
function readIds(database: string): ReadonlySet<bigint> {
  const db = new DatabaseSync(database, { readOnly: true, timeout: 5000 });
  try {
    const whole = readRows<{ id: bigint }>(db, "SELECT id FROM plants WHERE name = ?", name);
    return new Set(whole.map(({ id }) => id));
  } finally {
    db.close();
  }
}

/** Over a connection that it shares with others. */
function over(caller: Caller): (id: bigint) => Promise<string> {
  return async (id) => wordFor(await caller.create({ id, name }, patienceMs));
}

/** The meaning of the status; `cut` if there was none. On a separate connection. */
function post(url: string, id: bigint): Promise<string> {
  const body = Buffer.from(`{"id":${id},"name":"${name}"}`);
  const headers = {
    authorization: `Bearer ${knownToken}`,
    "content-type": "application/json",
    "content-length": body.length,
  };
  const outcome = Promise.withResolvers<string>();
  const signal = AbortSignal.timeout(patienceMs);
  const options = { method: "POST", headers, agent: false, signal } as const;
  const request = http.request(`${url}/plants`, options, (response) => {
    response.resume();
    response.once("close", () =>
      outcome.resolve(response.complete ? describe(response.statusCode) : "cut"),
    );
  });
  request.once("error", () => outcome.resolve(signal.aborted ? "unanswered" : "cut"));
  request.end(body);
  return outcome.promise;
}

function describe(status: number | undefined): string {
  if (status === 200) return "stored";
  return status === 503 ? "unavailable" : `${status}`;
}
