/** Whether something grows: the Theil-Sen slope, which is robust against single outliers. */
import { median } from "../../../bench/statistics.ts";

export interface Point {
  readonly atMs: number;
  readonly value: number;
}

const hourMs = 3_600_000;

/** The beginning is ignored: caches fill, code is compiled. */
const warmUp = { share: 0.25, msMax: 20 * 60_000 };

/**
 * Neighbouring points are similar. Their median contains as much information, and its noise is only
 * random.
 */
const pointsMax = 40;

/** A shorter time says nothing: much of the initial growth comes to an end. */
const least = { points: 5, settledMs: 30 * 60_000 };

/** Two-sided, 99 %: a run has a dozen slopes, and none may fail by chance. */
const normalQuantile = 2.576;

/**
 * The interval is that of R. O. Gilbert, Statistical Methods for Environmental Pollution Monitoring,
 * 1987, section 16.5.
 *
 * @param life Of one server, from its start on.
 * @returns undefined if there is too little data.
 */
export function slopeOf(life: readonly Point[]) {
  const points = condense(afterWarmUp(life));
  const { length: n } = points;
  if (n < least.points || lengthMs(points) < least.settledMs) return undefined;
  const slopes = slopesWithin(points).sort((a, b) => a - b);
  const reach = normalQuantile * Math.sqrt((n * (n - 1) * (2 * n + 5)) / 18);
  const at = (rank: number) =>
    slopes[Math.min(slopes.length - 1, Math.max(0, Math.round(rank)))] ?? Number.NaN;
  return {
    perHour: median(slopes),
    // The ends of its confidence interval.
    lowest: at((slopes.length - reach) / 2),
    highest: at((slopes.length + reach) / 2),
  };
}

/** Whether it grows by more than the limit, and not by chance. */
export function isGrowing(slope: ReturnType<typeof slopeOf>, limit: number): boolean {
  return slope !== undefined && slope.lowest > limit;
}

function afterWarmUp(life: readonly Point[]): readonly Point[] {
  const settledAt = (life[0]?.atMs ?? 0) + Math.min(warmUp.msMax, lengthMs(life) * warmUp.share);
  return life.filter(({ atMs }) => atMs >= settledAt);
}

function lengthMs(points: readonly Point[]): number {
  return (points.at(-1)?.atMs ?? 0) - (points[0]?.atMs ?? 0);
}

function condense(points: readonly Point[]): readonly Point[] {
  const size = Math.ceil(points.length / pointsMax);
  const parts = Map.groupBy(points.entries(), ([index]) => Math.floor(index / size));
  return [...parts.values()].map((part) => ({
    atMs: median(part.map(([, { atMs }]) => atMs)),
    value: median(part.map(([, { value }]) => value)),
  }));
}

function slopesWithin(points: readonly Point[]): number[] {
  return points.flatMap((one, index) =>
    points
      .slice(index + 1)
      .filter((other) => other.atMs > one.atMs)
      .map((other) => ((other.value - one.value) * hourMs) / (other.atMs - one.atMs)),
  );
}
