import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { pinLoad } from "../cores.ts";
import { buildPeer, peerPrograms } from "../peers/build.ts";
import { cpuUsPerRequest, readProcessUsage } from "../process-usage.ts";
import type { Start } from "../program.ts";
import { type ServerProcess, startServer } from "../server-process.ts";
import { medianOfKnown } from "../statistics.ts";
import { figure } from "../table.ts";
import type { Part } from "./part.ts";

const pathTo = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const ours = "connect-gateway";

function nodeServer(name: string): { readonly name: string; readonly start: Start } {
  return { name, start: { args: [pathTo("../servers/streams.ts"), name] } };
}

const grpcGo = { name: "grpc-go", start: { command: peerPrograms.go, args: ["-", "streams"] } };

/** Server streaming over gRPC: 64 streams of 1 KiB messages on four connections. */
export const streams: Part = {
  async run(bench) {
    const missing = await buildPeer("go");
    const rows = [
      ...[ours, "connect-node", "grpc-js"].map(nodeServer),
      ...(missing === undefined ? [grpcGo] : []),
    ];
    const samples = new Map<string, Sample[]>(rows.map(({ name }) => [name, []]));
    await using running = new AsyncDisposableStack();
    const servers: [string, ServerProcess][] = [];
    for (const { name, start } of rows) servers.push([name, running.use(await startServer(start))]);
    const { rounds, seconds } = bench.plan.latency;
    for (let round = 0; round <= rounds; round++) {
      for (const [name, server] of round % 2 === 0 ? servers : servers.toReversed()) {
        const sample = await measure(server, seconds);
        if (round > 0) samples.get(name)?.push(sample); // the first warms up
      }
      bench.log(`streams, round ${round} of ${rounds}`);
    }
    return { table: createTable(samples, missing), measured: Object.fromEntries(samples) };
  },
};

interface Sample {
  readonly messagesPerSecond: number;
  readonly cpuUs: number | undefined;
}

async function measure({ url, pid }: ServerProcess, seconds: number): Promise<Sample> {
  const reader = [pathTo("../load/stream-reader.ts"), url, "4", "16", `${seconds}`];
  const [command, ...args] = pinLoad([process.execPath, ...reader]);
  const before = readProcessUsage(pid);
  const { stdout } = await promisify(execFile)(command, args, { timeout: 60_000 });
  const { messagesPerSecond, messages } = JSON.parse(stdout);
  return { messagesPerSecond, cpuUs: cpuUsPerRequest(before, readProcessUsage(pid), messages) };
}

function createTable(samples: ReadonlyMap<string, readonly Sample[]>, missing: string | undefined) {
  const medianOf = (name: string, key: keyof Sample) =>
    medianOfKnown((samples.get(name) ?? []).map((sample) => sample[key]));
  // Of the same round, because the speed of the machine changes.
  const ratio = (name: string) =>
    medianOfKnown(
      (samples.get(name) ?? []).map(({ messagesPerSecond }, round) => {
        const own = samples.get(ours)?.[round]?.messagesPerSecond;
        return own && own / messagesPerSecond;
      }),
    );
  return {
    title: "Server streaming",
    columns: ["server", "messages/s", "CPU µs/message", `${ours} to it`],
    rows: [...samples.keys()].map((name) => [
      name,
      figure(medianOf(name, "messagesPerSecond"), 0),
      figure(medianOf(name, "cpuUs"), 1),
      figure(ratio(name), 2),
    ]),
    notes: missing === undefined ? [] : [`grpc-go: skipped, ${missing}`],
  };
}
