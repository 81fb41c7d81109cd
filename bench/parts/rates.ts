import type { Bench } from "../bench.ts";
import { pacedShare } from "../plan.ts";
import { cpuUsPerRequest, readProcessUsage } from "../process-usage.ts";
import { findMeasurable, floorOf, named, type Row, rows } from "../rows.ts";
import { Session } from "../session.ts";
import { median, medianOfKnown } from "../statistics.ts";
import { createStoreFolder } from "../store-folder.ts";
import { figure, type Table } from "../table.ts";
import type { Part } from "./part.ts";

/** The highest rate of each row, its cost, and the latency below it. */
export const rates: Part = {
  async run(bench) {
    const loadable = rows.filter(({ kind }) => kind === "grpc" || bench.hasWrk);
    const measurable = await findMeasurable(bench, loadable);
    const measured = new Map<string, Round[]>(measurable.map(({ name }) => [name, []]));
    for (let n = 1; n <= bench.plan.rates.rounds; n++) {
      const round = await measureRound(bench, measurable);
      for (const [name, result] of round) {
        measured.get(name)?.push(result);
        const rate = median(result.peaks.map(({ requestsPerSecond }) => requestsPerSecond));
        bench.log(`round ${n}, ${name}: ${figure(rate, 0)} requests/s`);
      }
    }
    return { table: createTable(measurable, measured), measured: Object.fromEntries(measured) };
  },
};

/** A server's measurements from start to end. */
interface Round {
  readonly peaks: readonly Peak[];
  /** The achieved share of the requested rate. */
  readonly pacedShareReached: number;
  readonly pacedP99Ms: number;
  readonly pacedGeneratorCpuUs: number | undefined;
  readonly rssBytes: number | undefined;
  readonly stored: number | undefined;
}

/** A server's maximum rate for a short time. */
interface Peak {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly serverCpuUs: number | undefined;
  readonly generatorCpuUs: number | undefined;
}

/**
 * Starts all servers and loads them one after another for a short time, several times. The
 * machine's performance changes within seconds, and this way affects all of them equally.
 */
async function measureRound(
  bench: Bench,
  measurable: readonly Row[],
): Promise<ReadonlyMap<string, Round>> {
  const { warmUpSeconds, rates, paced } = bench.plan;
  await using running = new AsyncDisposableStack();
  const trials: Trial[] = [];
  for (const row of measurable) {
    await named(row, async () => {
      const folder = running.use(await createStoreFolder(bench.folder));
      const start = await row.program.open(folder.path);
      const session = running.use(await Session.open(bench, start, { kind: row.kind }));
      await session.loadToPeak(warmUpSeconds);
      trials.push({ row, session, peaks: [] });
    });
  }
  for (let n = 1; n <= rates.peaks; n++) {
    // Alternates the order, so that none always follows the same other one.
    for (const trial of n % 2 === 0 ? trials.toReversed() : trials) await addPeak(bench, trial);
  }
  const round = new Map<string, Round>();
  for (const { row, session, peaks } of trials) {
    await named(row, async () => {
      const rssBytes = readProcessUsage(session.server.pid)?.rssBytes;
      const rate = pacedShare * median(peaks.map(({ requestsPerSecond }) => requestsPerSecond));
      const { requestsPerSecond, p99Ms, generatorCpuUs } = await session.loadPaced(rate, paced);
      round.set(row.name, {
        peaks,
        pacedShareReached: requestsPerSecond / rate,
        pacedP99Ms: p99Ms,
        pacedGeneratorCpuUs: generatorCpuUs,
        rssBytes,
        stored: await session.close(),
      });
    });
  }
  return round;
}

/** A row in one round. */
interface Trial {
  readonly row: Row;
  readonly session: Session;
  readonly peaks: Peak[];
}

async function addPeak({ plan }: Bench, { row, session, peaks }: Trial): Promise<void> {
  await named(row, async () => {
    const { pid } = session.server;
    const before = readProcessUsage(pid);
    const { created, ...result } = await session.loadToPeak(plan.rates.peakSeconds);
    const serverCpuUs = cpuUsPerRequest(before, readProcessUsage(pid), created);
    const { requestsPerSecond, p50Ms, p99Ms, generatorCpuUs } = result;
    peaks.push({ requestsPerSecond, p50Ms, p99Ms, serverCpuUs, generatorCpuUs });
  });
}

function createTable(measurable: readonly Row[], measured: ReadonlyMap<string, Round[]>): Table {
  const roundsOf = (name: string) => measured.get(name) ?? [];
  const peaksOf = (name: string) => roundsOf(name).flatMap(({ peaks }) => peaks);
  const peak = (name: string, key: keyof Peak) =>
    medianOfKnown(peaksOf(name).map((one) => one[key]));
  const round = (name: string, key: Exclude<keyof Round, "peaks">) =>
    medianOfKnown(roundsOf(name).map((one) => one[key]));
  // Compared pairwise, because a change of the machine from one minute to the next affects both.
  const ratio = (name: string, other: string) => {
    const others = peaksOf(other);
    const ratios = peaksOf(name).map(({ requestsPerSecond }, index) => {
      const beside = others[index];
      return beside && requestsPerSecond / beside.requestsPerSecond;
    });
    return figure(medianOfKnown(ratios), 2);
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
    rows: measurable.map((row) => [
      row.name,
      figure(peak(row.name, "requestsPerSecond"), 0),
      figure(peak(row.name, "serverCpuUs"), 1),
      figure(peak(row.name, "p50Ms"), 2),
      figure(peak(row.name, "p99Ms"), 2),
      figure(round(row.name, "pacedP99Ms"), 2),
      figure(scale(round(row.name, "rssBytes"), 2 ** -20), 0),
      ratio(row.name, floorOf(row)),
      row.peers
        .filter((peer) => measured.has(peer))
        .map((peer) => `${ratio(row.name, peer)} ${peer}`)
        .join("; ") || "–",
    ]),
    notes: measurable
      .filter(({ name }) => (round(name, "pacedShareReached") ?? 1) < 0.95)
      .map(
        ({ name }) =>
          `${name} did not keep up at 80 %: its p99 there grows with the length of the run.`,
      ),
  };
}

function scale(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor;
}
