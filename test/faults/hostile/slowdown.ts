/** How much longer well-behaved clients wait during an attack. */
import { quantile } from "../../../bench/statistics.ts";
import type { RequestRecord } from "../history/check.ts";

/** What was done to the server, and when. */
export interface Span {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** With fewer requests, even the slowest one says little. */
const requestsMin = 20;
/** Longer than this multiple of the undisturbed time is reported. */
const factorMax = 2;

/**
 * @param rest When there were only well-behaved clients.
 * @param floods Each flood, as often as it ran.
 */
export function describeSlowdown(
  requests: readonly RequestRecord[],
  { rest, floods }: { rest: Span; floods: readonly Span[] },
): string[] {
  const spans = [rest, ...floods];
  const beside = Map.groupBy(requests, (request) => longestOf(spans, request)?.name);
  const figuresOf = (name: string) => {
    const waits = (beside.get(name) ?? []).map(({ startMs, endMs }) => endMs - startMs);
    const { length: count } = waits.sort((a, b) => a - b);
    const p99Ms = count === 0 ? 0 : quantile(waits, 0.99);
    return { name, count, p99Ms, shown: `p99 ${p99Ms.toFixed(1)} ms of ${count} requests` };
  };

  const baseline = figuresOf(rest.name);
  const all = [...new Set(floods.map(({ name }) => name))].map(figuresOf);
  const known = all.filter(({ count }) => count >= requestsMin);
  const slow = known
    .map((figures) => ({ ...figures, factor: figures.p99Ms / baseline.p99Ms }))
    .filter(({ factor }) => factor > factorMax)
    .sort((a, b) => b.factor - a.factor);
  return [
    `${baseline.shown}: ${baseline.name}`,
    ...slow.map(({ shown, factor, name }) => `${shown}, ${factor.toFixed(1)} times that: ${name}`),
    `p99 within ${factorMax} times that: ${known.length - slow.length} floods` +
      `; fewer than ${requestsMin} requests beside them: ${all.length - known.length}`,
  ];
}

/**
 * The span in which it waited the longest, if any. A request that a flood delayed until the next
 * one began says nothing about the next one.
 */
function longestOf(spans: readonly Span[], { startMs, endMs }: RequestRecord): Span | undefined {
  let longest: Span | undefined;
  let longestMs = 0;
  for (const span of spans) {
    const sharedMs = Math.min(endMs, span.endMs) - Math.max(startMs, span.startMs);
    if (sharedMs > longestMs) [longest, longestMs] = [span, sharedMs];
  }
  return longest;
}
