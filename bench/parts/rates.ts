import type { Bench } from "../bench.ts";
import { pacedShare } from "../plan.ts";
import { type ProcessUsage, readProcessUsage } from "../process-usage.ts";
import { floorOf, type Row, rows } from "../rows.ts";
import { Session } from "../session.ts";
import { median } from "../statistics.ts";
import { createStoreFolder } from "../store-folder.ts";
import { figure, type Table } from "../table.ts";
import type { Part } from "./part.ts";

/** The highest rate of each row, what it costs, and the latency below it. */
export const rates: Part = {
  async run(bench) {
    const measurable = rows.filter(({ kind }) => kind === "grpc" || bench.hasWrk);
    const rounds = new Map<string, Round[]>(measurable.map(({ name }) => [name, []]));
    // Interleaved: what changes on the machine meanwhile meets all rows alike.
    for (let round = 1; round <= bench.plan.rateRounds; round++) {
      for (const row of measurable) {
        const result = await measure(bench, row);
        rounds.get(row.name)?.push(result);
        bench.log(`round ${round}, ${row.name}: ${figure(result.requestsPerSecond, 0)} requests/s`);
      }
    }
    return { table: createTable(measurable, rounds), measured: Object.fromEntries(rounds) };
  },
};

interface Round {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The rate that was reached, of the one that was asked for. */
  readonly pacedShareReached: number;
  readonly pacedP99Ms: number;
  readonly serverCpuUs: number | undefined;
  readonly generatorCpuUs: number | undefined;
  readonly rssBytes: number | undefined;
  readonly stored: number | undefined;
}

async function measure(bench: Bench, { name, kind, program }: Row): Promise<Round> {
  const { warmUpSeconds, peakSeconds, paced: pacedPlan } = bench.plan;
  try {
    await using folder = await createStoreFolder(bench.folder);
    const start = await program.open(folder.path);
    await using session = await Session.open(bench, start, { kind });
    const { pid } = session.server;
    await session.loadToPeak(warmUpSeconds);
    const before = readProcessUsage(pid);
    const peak = await session.loadToPeak(peakSeconds);
    const after = readProcessUsage(pid);
    const rate = pacedShare * peak.requestsPerSecond;
    const paced = await session.loadPaced(rate, pacedPlan);
    const { requestsPerSecond, p50Ms, p99Ms, generatorCpuUs } = peak;
    return {
      requestsPerSecond,
      p50Ms,
      p99Ms,
      pacedShareReached: paced.requestsPerSecond / rate,
      pacedP99Ms: paced.p99Ms,
      serverCpuUs: cpuBetween(before, after, peak.created),
      generatorCpuUs,
      rssBytes: after?.rssBytes,
      stored: await session.close(),
    };
  } catch (cause) {
    throw new Error(`${name} could not be measured`, { cause });
  }
}

function cpuBetween(
  before: ProcessUsage | undefined,
  after: ProcessUsage | undefined,
  requests: number,
): number | undefined {
  return before && after && (after.cpuUs - before.cpuUs) / requests;
}

function createTable(measured: readonly Row[], rounds: ReadonlyMap<string, Round[]>): Table {
  const of = (name: string, key: keyof Round) => medianOf(rounds.get(name) ?? [], key);
  // Round by round: what a machine does in one minute and not in the next meets both.
  const ratio = (name: string, other: string) => {
    const others = rounds.get(other) ?? [];
    const ratios = (rounds.get(name) ?? []).flatMap(({ requestsPerSecond }, index) => {
      const beside = others[index];
      return beside === undefined ? [] : requestsPerSecond / beside.requestsPerSecond;
    });
    return figure(ratios.length === 0 ? undefined : median(ratios), 2);
  };
  return {
    title: "Rates",
    columns: [
      "server",
      "requests/s",
      "CPU µs/request",
      "p50 ms",
      "p99 ms",
      "p99 ms at 80 %",
      "RSS MiB",
      "of the floor",
      "of its peers",
    ],
    rows: measured.map((row) => [
      row.name,
      figure(of(row.name, "requestsPerSecond"), 0),
      figure(of(row.name, "serverCpuUs"), 1),
      figure(of(row.name, "p50Ms"), 2),
      figure(of(row.name, "p99Ms"), 2),
      figure(of(row.name, "pacedP99Ms"), 2),
      figure(scale(of(row.name, "rssBytes"), 2 ** -20), 0),
      ratio(row.name, floorOf(row)),
      row.peers.map((peer) => `${ratio(row.name, peer)} ${peer}`).join("; ") || "–",
    ]),
    notes: measured
      .filter(({ name }) => (of(name, "pacedShareReached") ?? 1) < 0.95)
      .map(
        ({ name }) =>
          `${name} did not keep up at 80 %: its p99 there grows with the length of the run.`,
      ),
  };
}

function medianOf(rounds: readonly Round[], key: keyof Round): number | undefined {
  const values = rounds.map((round) => round[key]).filter((value) => value !== undefined);
  return values.length === 0 ? undefined : median(values);
}

function scale(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor;
}
