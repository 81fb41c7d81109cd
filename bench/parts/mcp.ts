import type { Bench } from "../bench.ts";
import { concurrency } from "../plan.ts";
import { cpuUsPerRequest, readProcessUsage } from "../process-usage.ts";
import { gateway } from "../programs.ts";
import { Session } from "../session.ts";
import { medianOfKnown } from "../statistics.ts";
import { createStoreFolder } from "../store-folder.ts";
import { figure, type Table } from "../table.ts";
import type { Part } from "./part.ts";

const kinds = ["rest", "mcp"] as const;

/** A call of a tool, beside the same call over REST: the gateway alone, without a store. */
export const mcp: Part = {
  async run(bench) {
    const samples: Sample[] = [];
    const { rounds } = bench.plan.latency;
    await using running = new AsyncDisposableStack();
    const folder = running.use(await createStoreFolder(bench.folder));
    const sessions: (readonly [Sample["kind"], Session])[] = [];
    for (const kind of kinds) {
      const session = await Session.open(bench, await gateway.open(folder.path), { kind });
      sessions.push([kind, running.use(session)]);
      await session.loadClosed({ seconds: bench.plan.warmUpSeconds });
    }
    for (let round = 1; round <= rounds; round++) {
      for (const [kind, session] of round % 2 === 0 ? sessions.toReversed() : sessions) {
        samples.push(await measure(bench, kind, session));
      }
      bench.log(`mcp, round ${round} of ${rounds}`);
    }
    return { table: createTable(samples), measured: { samples } };
  },
};

interface Sample {
  readonly kind: (typeof kinds)[number];
  readonly requestsPerSecond: number;
  readonly cpuUs: number | undefined;
}

async function measure({ plan }: Bench, kind: Sample["kind"], session: Session): Promise<Sample> {
  const { pid } = session.server;
  const before = readProcessUsage(pid);
  const { created, requestsPerSecond } = await session.loadAt(concurrency, plan.latency.seconds);
  const cpuUs = cpuUsPerRequest(before, readProcessUsage(pid), created);
  return { kind, requestsPerSecond, cpuUs };
}

function createTable(samples: readonly Sample[]): Table {
  const all = (kind: Sample["kind"], key: Exclude<keyof Sample, "kind">) =>
    samples.filter((sample) => sample.kind === kind).map((sample) => sample[key]);
  // Of the same round, because the speed of the machine changes.
  const ratios = all("mcp", "cpuUs").map((own, round) => {
    const rest = all("rest", "cpuUs")[round];
    return own && rest && own / rest;
  });
  return {
    title: "Calls of tools",
    columns: ["protocol", "requests/s", "CPU µs/request", "CPU to REST"],
    rows: kinds.map((kind) => [
      kind,
      figure(medianOfKnown(all(kind, "requestsPerSecond")), 0),
      figure(medianOfKnown(all(kind, "cpuUs")), 1),
      kind === "rest" ? "" : figure(medianOfKnown(ratios), 2),
    ]),
    notes: [],
  };
}
