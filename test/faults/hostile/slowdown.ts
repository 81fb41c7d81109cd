/** How much longer well-behaved clients wait during an attack. */
import type { RequestRecord } from "../history/history.ts";

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
    const times = (beside.get(name) ?? []).map(({ startMs, endMs }) => endMs - startMs);
    return { name, count: times.length, p99Ms: p99(times) };
  };

  const baseline = figuresOf(rest.name);
  const all = [...new Set(floods.map(({ name }) => name))].map(figuresOf);
  const known = all.filter(({ count }) => count >= requestsMin);
  const slow = known
    .map((figures) => ({ ...figures, factor: figures.p99Ms / baseline.p99Ms }))
    .filter(({ factor }) => factor > factorMax)
    .sort((a, b) => b.factor - a.factor);
  return [
    `p99 ${show(baseline)}: ${baseline.name}`,
    ...slow.map(
      (flood) => `p99 ${show(flood)}, ${flood.factor.toFixed(1)} times that: ${flood.name}`,
    ),
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
    if (sharedMs <= longestMs) continue;
    longest = span;
    longestMs = sharedMs;
  }
  return longest;
}

/** The 99th percentile; 0 for an empty list. */
function p99(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0;
}

function show({ p99Ms, count }: { p99Ms: number; count: number }): string {
  return `${p99Ms.toFixed(1)} ms of ${count} requests`;
}
