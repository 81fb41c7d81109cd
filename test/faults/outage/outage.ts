/**
 * Makes a store wait for everything that its engine can wait for, under load. Each caller must know
 * within the documented time, and so must `/readyz`. A server that is stopped meanwhile must end.
 */
import { setTimeout as delay } from "node:timers/promises";
import { get } from "../../support/plant-request.ts";
import { hasPostgres } from "../../support/postgres-server.ts";
import type { Campaign, Run } from "../campaign.ts";
import { findCitus } from "../citus/cluster.ts";
import { withShim } from "../disk/shim.ts";
import { starvedMs } from "../history/starvation.ts";
import { openCallers } from "../load/caller.ts";
import { createClients, openLoad } from "../load/load.ts";
import { createRandom } from "../random.ts";
import { endOf, startServer } from "../server.ts";
import { type Wait, waits } from "./waits.ts";

/** In ms, as docs/health.md promises. */
const limits = {
  answer: 11_000,
  readyz: 11_000,
  /** `--drain-timeout-ms`, and what a server adds to it at most. */
  drain: 12_500,
  /** Of the callers of a store that another node replaces. */
  briefly: 3000,
} as const;

/** How many stores wait at once. Each takes a second of a core to start. */
const lanes = 4;

/** How long an outage lasts, in ms: more than the callers wait. */
const outagesMs = [14_000, 60_000] as const;

/** What an outage takes beside its length. */
const othersMs = 30_000;

export const outage: Campaign = {
  name: "outage",
  run: (run) =>
    withShim(run, async ({ shimPath }) => {
      // Each PostgreSQL ends with this process.
      process.setMaxListeners(0);
      if (!hasPostgres) run.skip("PostgreSQL: there is none here");
      if (findCitus() === undefined) run.skip("Citus: there is none here");
      const all = [
        ...waits.SQLite,
        ...(hasPostgres ? waits.PostgreSQL : []),
        ...(findCitus() ? waits.Citus : []),
      ];
      const queue = createRandom(run.seed, "outage").shuffle(all);
      const roundsMs = (run.minutes * 60_000) / Math.ceil(all.length / lanes) - othersMs;
      const outageMs = Math.min(Math.max(roundsMs, outagesMs[0]), outagesMs[1]);
      const lane = async () => {
        for (let tried = 0; tried === 0 || !run.isOver(); tried++) {
          const wait = queue.shift();
          if (wait === undefined) break;
          await run.attempt(wait.name, () => measure(run, wait, { outageMs, shimPath }));
        }
      };
      await Promise.all(Array.from({ length: lanes }, lane));
    }),
};

type Plan = { readonly outageMs: number; readonly shimPath: string };

async function measure(run: Run, wait: Wait, { outageMs, shimPath }: Plan): Promise<void> {
  const { name, stops, isAtStart = false } = wait;
  await using stack = new AsyncDisposableStack();
  const site = await wait.open(stack, shimPath);
  const options = { args: ["--store", site.url], ...(site.env && { env: site.env }) };
  const clients = createClients({ count: 40, seed: run.seed, deadlinesMs: [50_000, 60_000] });
  const { recorder } = clients;
  const found = (text: string) => run.find(name, [text]);
  const late = (what: string, fromMs: number, limitMs: number, atMs = performance.now()) => {
    const ms = Math.round(atMs - fromMs);
    if (ms > limitMs + starvedMs(fromMs, atMs)) found(`${what} took ${ms} ms`);
    return `${what} ${(ms / 1000).toFixed(1)} s`;
  };
  let end = isAtStart ? await site.begin() : undefined;
  const told: string[] = [];
  {
    await using server = await startServer(options);
    using callers = openCallers([server.url]);
    await using load = openLoad(clients, callers, 200);
    if (!isAtStart) await load.untilStored(40);
    using readiness = watchReadiness(server.url);
    while (readiness.changes.at(-1)?.status !== 200) await delay(50);
    const beganAt = performance.now();
    end ??= await site.begin();
    const before = recorder.requests.length;
    await delay(outageMs);
    const during = recorder.requests.slice(before).filter(({ startMs }) => startMs > beganAt);
    const stored = during.filter(({ outcome }) => outcome.kind === "stored").length;
    told.push(`${during.length} answers, ${stored} stored`);
    // In a closed loop, all callers soon wait for what hangs.
    if (stops === "all" ? stored > 40 : stored < (stops === "some" ? 1 : 100))
      found(`${stored} of ${during.length} were stored`);
    const [unready, ...more] = readiness.changes.filter(({ atMs }) => atMs > beganAt);
    if (stops === "all") told.push(late("/readyz", beganAt, limits.readyz, unready?.atMs));
    else if (unready !== undefined) found("/readyz said 503 although creates succeed");
    const later = more.map(
      ({ status, atMs }) => `${status} after ${Math.round(atMs - beganAt)} ms`,
    );
    if (more.length > 0) found(`nothing was stored, but /readyz said ${later.join(", ")}`);
    const endedAt = performance.now();
    await end();
    await load.untilStored(40);
    told.push(late("stored again", endedAt, limits.readyz));
    while (readiness.changes.at(-1)?.status !== 200) await delay(50);
    told.push(late("ready again", endedAt, limits.readyz));
    const longest = recorder.requests.reduce((a, b) =>
      a.endMs - a.startMs > b.endMs - b.startMs ? a : b,
    );
    const limitMs = stops === "briefly" ? limits.briefly : limits.answer;
    told.push(late("callers", longest.startMs, limitMs, longest.endMs));
    // A drain, while it waits again.
    end = await site.begin();
    await delay(3000);
    const drainedAt = performance.now();
    server.process.kill("SIGTERM");
    const [death] = await endOf(server);
    told.push(late("drain", drainedAt, limits.drain));
    if (death !== undefined && !wait.isStuck) found(death);
    await end();
  }
  await using server = await startServer(options);
  using callers = openCallers([server.url]);
  await using load = openLoad(clients, callers);
  await load.settle();
  await recorder.judge(run, name, site.store);
  run.log(`${name}, for ${outageMs / 1000} s: ${told.join(", ")}`);
}

/** Asks until it is stopped. */
function watchReadiness(url: string) {
  const changes: { status: number; atMs: number }[] = [];
  const stopping = new AbortController();
  void (async () => {
    while (!stopping.signal.aborted) {
      const { status } = await get(url, "/readyz").catch(() => ({ status: 0 }));
      if (status !== changes.at(-1)?.status) changes.push({ status, atMs: performance.now() });
      await delay(100);
    }
  })();
  return { changes, [Symbol.dispose]: () => stopping.abort() };
}
