import { setTimeout as delay } from "node:timers/promises";
import type { ChildServer } from "../../support/child-server.ts";
import { starvedMs } from "../history/starvation.ts";
import { createOnce } from "../load/caller.ts";
import { deathOf, patienceMs } from "../server.ts";

/** The time that the server could run: waiting for a CPU does not count. */
const recoveryMs = 5000;

/**
 * @returns What is wrong with a server after its load has ended: it must be alive and store plants
 * again within 5 s.
 */
export async function recover(server: ChildServer): Promise<string[]> {
  const begin = performance.now();
  for (;;) {
    const outcome = await createOnce(server.url, { id: -1n, name: "again" });
    const end = performance.now();
    const ms = Math.round(end - begin);
    if (outcome === "stored") {
      const givenMs = Math.round(ms - starvedMs(begin, end));
      return givenMs > recoveryMs
        ? [`it took ${ms} ms to recover, ${givenMs} of them with a CPU`]
        : [];
    }
    const death = deathOf(server);
    if (death.length > 0) return death;
    if (ms > patienceMs) return [`nothing is stored ${ms} ms after the end of a load`];
    await delay(50);
  }
}
