import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Bench } from "../bench.ts";
import { proxyMain } from "../programs.ts";
import { type ServerProcess, startServer } from "../server-process.ts";
import { medianOfKnown } from "../statistics.ts";
import { streamDescriptors } from "../stream.ts";
import { figure, type Table } from "../table.ts";
import type { Part } from "./part.ts";

const pathTo = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Round trips. */
const distancesMs = [1, 20, 100];
const directions = ["down", "up"];
const streamCounts = [1, 8];

const direct = "direct";
const ways = [direct, "the server is far", "the caller is far"] as const;

interface Sample {
  readonly distanceMs: number;
  readonly direction: string;
  readonly streams: number;
  readonly way: string;
  readonly megabytesPerSecond: number;
  /** A small call beside the streams, and alone. */
  readonly smallMs: number;
  readonly aloneMs: number;
}

/** Streams of large messages over a distance, by connect-gateway-proxy and without it. */
export const far: Part = {
  async run(bench) {
    const samples: Sample[] = [];
    const { rounds } = bench.plan.latency;
    for (let round = 1; round <= rounds; round++) {
      for (const distanceMs of distancesMs) samples.push(...(await measureAt(bench, distanceMs)));
      bench.log(`far, round ${round} of ${rounds}`);
    }
    return { table: createTable(samples), measured: { samples } };
  },
};

async function measureAt(bench: Bench, distanceMs: number): Promise<readonly Sample[]> {
  await using running = new AsyncDisposableStack();
  const start = async (...args: string[]) => running.use(await startServer({ args }));
  const before = ({ url }: ServerProcess) =>
    start(pathTo("../servers/relay.ts"), new URL(url).port, `${distanceMs / 2}`);
  const file = join(bench.folder, "streams.binpb");
  await writeFile(file, streamDescriptors());
  const proxyBefore = ({ url }: ServerProcess) =>
    start(proxyMain, "--port", "0", "--upstream", url, "--descriptors", file);

  const server = await start(pathTo("../servers/far.ts"));
  const relay = await before(server);
  const origins: Record<(typeof ways)[number], string> = {
    [direct]: relay.url,
    "the server is far": (await proxyBefore(relay)).url,
    "the caller is far": (await before(await proxyBefore(server))).url,
  };
  const samples: Sample[] = [];
  for (const direction of directions) {
    for (const streams of streamCounts) {
      for (const way of ways) {
        const args = [origins[way], direction, `${streams}`, `${bench.plan.latency.seconds}`];
        const client = [pathTo("../load/far-client.ts"), ...args];
        const { stdout } = await promisify(execFile)(process.execPath, client, { timeout: 60_000 });
        samples.push({ distanceMs, direction, streams, way, ...JSON.parse(stdout) });
      }
    }
  }
  return samples;
}

function createTable(samples: readonly Sample[]): Table {
  const rows = distancesMs.flatMap((distanceMs) =>
    directions.flatMap((direction) =>
      streamCounts.map((streams) => {
        const medianOf = (key: "megabytesPerSecond" | "smallMs", way: string) =>
          medianOfKnown(
            samples
              .filter((one) => one.distanceMs === distanceMs && one.direction === direction)
              .filter((one) => one.streams === streams && one.way === way)
              .map((one) => one[key]),
          );
        return [
          `${distanceMs} ms, ${streams} ${direction}`,
          ...ways.map((way) => figure(medianOf("megabytesPerSecond", way), 1)),
          ...ways.map((way) => figure(medianOf("smallMs", way), 1)),
        ];
      }),
    ),
  );
  return {
    title: "Streams of 64 KiB messages over a distance, with and without connect-gateway-proxy",
    columns: [
      "round trip, streams",
      ...ways.map((way) => `MB/s, ${way}`),
      ...ways.map((way) => `small call ms, ${way}`),
    ],
    rows,
    notes: [],
  };
}
