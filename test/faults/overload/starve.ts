/** A small heap and few files, with clients that need more of both. */
import { DatabaseSync } from "node:sqlite";
import { readRows } from "../../support/sqlite-rows.ts";
import { count, type Run } from "../campaign.ts";
import { createOnce, openCallers, wordFor } from "../load/caller.ts";
import { deathOf, patienceMs, smallHeap, startServer, stopServer } from "../server.ts";
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

export async function starve(run: Run): Promise<void> {
  const tally: Record<string, number> = {};
  const acknowledged: bigint[] = [];
  await using server = await startServer({ env: smallHeap, filesMax: 256 });
  const end = performance.now() + starvedMsMax;
  let nextId = 1n;

  {
    using callers = openCallers([server.url]);
    const shared = callers.filter(({ protocol }) => protocol.endsWith("HTTP/2"));
    await Promise.all(
      Array.from({ length: 2 * clientCount }, async (_, index) => {
        // Every other one has its own connection.
        const caller = index % 2 === 0 ? undefined : shared[(index >> 1) % shared.length];
        do {
          const plant = { id: nextId++, name };
          const outcome =
            caller === undefined
              ? await createOnce(server.url, plant)
              : wordFor(await caller.create(plant, patienceMs));
          count(tally, outcome);
          if (outcome === "stored") acknowledged.push(plant.id);
        } while (deathOf(server).length === 0 && performance.now() < end && !run.isOver());
      }),
    );
  }
  run.log(`starve: ${JSON.stringify(tally)}`);
  run.find("starve", await recover(server));
  for (const [outcome, times] of Object.entries(tally)) {
    if (/^(stored|unavailable|deadline|cut)$/.test(outcome)) continue;
    run.find("starve", [`${times} answers were ${outcome}`]);
  }
  run.find("starve", await stopServer(server));
  const stored = readIds(server.database);
  const lost = acknowledged.filter((id) => !stored.has(id)).length;
  if (lost > 0) run.find("starve", [`${lost} plants were acknowledged and are not there`]);
  run.count("starved requests", Number(nextId) - 1);
  run.count("starved stored", acknowledged.length);
}

/** The ids of the plants stored as sent. All plants together are too large for a heap. */
function readIds(database: string): ReadonlySet<bigint> {
  using db = new DatabaseSync(database, { readOnly: true, timeout: 5000 });
  const whole = readRows<{ id: bigint }>(db, "SELECT id FROM plants WHERE name = ?", name);
  return new Set(whole.map(({ id }) => id));
}
