import type { Bench } from "../bench.ts";
import { buildPeer } from "../peers/build.ts";
import { cpuUsPerRequest, readProcessUsage } from "../process-usage.ts";
import { type Front, fronts, grpcGoAlone } from "../programs.ts";
import { startServer } from "../server-process.ts";
import { Session } from "../session.ts";
import { medianOfKnown } from "../statistics.ts";
import { figure, type Table } from "../table.ts";
import type { Part } from "./part.ts";

const inFlight = {
  http1: { connections: 64, streams: 1 },
  grpc: { connections: 4, streams: 16 },
} as const;

/** REST before the same grpc-go server, by proxies that are processes of their own. */
export const proxy: Part = {
  async run(bench) {
    const missing = await buildPeer("go");
    const samples: Sample[] = [];
    const { rounds } = bench.plan.latency;
    for (let round = 1; missing === undefined && round <= rounds; round++) {
      samples.push(...(await measureRound(bench, turned(fronts, round))));
      bench.log(`proxy, round ${round} of ${rounds}`);
    }
    return { table: createTable(samples, missing), measured: { samples } };
  },
};

interface Sample {
  readonly name: string;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly proxyCpuUs: number | undefined;
  readonly upstreamCpuUs: number | undefined;
}

/** Each is first as often as the others. */
function turned<T>(list: readonly T[], by: number): readonly T[] {
  return list.map((_, index) => list[(index + by) % list.length] as T);
}

/** Starts the upstream and all proxies, and loads these in turn. */
async function measureRound(bench: Bench, order: readonly Front[]): Promise<readonly Sample[]> {
  await using running = new AsyncDisposableStack();
  const upstream = running.use(await startServer(grpcGoAlone));
  const sessions = new Map<Front, Session>();
  for (const front of order) {
    const session = await Session.open(bench, front.before(upstream.url), { kind: "rest" });
    running.use(session);
    await session.loadClosed({ seconds: bench.plan.warmUpSeconds });
    sessions.set(front, session);
  }
  const samples: Sample[] = [];
  for (const [{ name }, session] of sessions) {
    const usage = () => [session.server, upstream].map(({ pid }) => readProcessUsage(pid));
    const before = usage();
    const result = await session.loadAt(inFlight, bench.plan.latency.seconds);
    const after = usage();
    const [proxyCpuUs, upstreamCpuUs] = before.map((one, index) =>
      cpuUsPerRequest(one, after[index], result.created),
    );
    const { requestsPerSecond, p50Ms, p99Ms } = result;
    samples.push({ name, requestsPerSecond, p50Ms, p99Ms, proxyCpuUs, upstreamCpuUs });
  }
  return samples;
}

function createTable(samples: readonly Sample[], missing: string | undefined): Table {
  const describe = (name: string) => {
    const own = samples.filter((sample) => sample.name === name);
    const of = (key: Exclude<keyof Sample, "name">) => medianOfKnown(own.map((one) => one[key]));
    return [
      name,
      figure(of("requestsPerSecond"), 0),
      figure(of("p50Ms"), 2),
      figure(of("p99Ms"), 2),
      figure(of("proxyCpuUs"), 1),
      figure(of("upstreamCpuUs"), 1),
    ];
  };
  return {
    title: `REST before one grpc-go server that stores nothing, ${inFlight.http1.connections} in flight`,
    columns: [
      "proxy",
      "requests/s",
      "p50 ms",
      "p99 ms",
      "CPU µs/request of the proxy",
      "of the server",
    ],
    rows: missing === undefined ? fronts.map(({ name }) => describe(name)) : [],
    notes: missing === undefined ? [] : [`skipped, ${missing}`],
  };
}
