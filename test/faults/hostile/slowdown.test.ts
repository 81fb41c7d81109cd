/** Which floods are reported to have delayed clients, and by which requests. */
import { expect, test } from "vitest";
import type { RequestRecord } from "../history/check.ts";
import { describeSlowdown } from "./slowdown.ts";

const rest = { name: "rest", startMs: 0, endMs: 1000 };

function ask(startMs: number, endMs: number): RequestRecord {
  const plant = { id: 1n, name: "Basil" };
  return { client: "one", plant, startMs, endMs, deadlineMs: 1000, outcome: { kind: "taken" } };
}

/** The minimum number of requests. */
function askOften(startMs: number, tookMs: number): RequestRecord[] {
  return Array.from({ length: 20 }, () => ask(startMs, startMs + tookMs));
}

test("floods that took more than twice the time are listed with their factor, the worst first", () => {
  const floods = [
    { name: "bad", startMs: 1000, endMs: 2000 },
    { name: "good", startMs: 2000, endMs: 3000 },
    { name: "worse", startMs: 3000, endMs: 4000 },
  ];
  const requests = [askOften(100, 10), askOften(1100, 30), askOften(2100, 20), askOften(3100, 45)];
  expect(describeSlowdown(requests.flat(), { rest, floods })).toEqual([
    "p99 10.0 ms of 20 requests: rest",
    "p99 45.0 ms of 20 requests, 4.5 times that: worse",
    "p99 30.0 ms of 20 requests, 3.0 times that: bad",
    "p99 within 2 times that: 1 floods; fewer than 20 requests beside them: 0",
  ]);
});

test("a flood is counted across all rounds, and not reported with few requests", () => {
  const floods = [
    { name: "often", startMs: 1000, endMs: 1100 },
    { name: "seldom", startMs: 1100, endMs: 1200 },
    { name: "often", startMs: 1200, endMs: 1300 },
  ];
  const requests = [
    ...askOften(100, 10),
    ...askOften(1010, 30).slice(10),
    ...askOften(1110, 50).slice(1),
    ...askOften(1210, 40).slice(10),
  ];
  expect(describeSlowdown(requests, { rest, floods }).slice(1)).toEqual([
    "p99 40.0 ms of 20 requests, 4.0 times that: often",
    "p99 within 2 times that: 0 floods; fewer than 20 requests beside them: 1",
  ]);
});

test("a request counts for the flood that delayed it the longest", () => {
  const floods = [
    { name: "first", startMs: 1000, endMs: 1100 },
    { name: "second", startMs: 1100, endMs: 1200 },
  ];
  const requests = [...askOften(100, 10), ...askOften(1010, 100), ...askOften(1120, 10)];
  expect(describeSlowdown(requests, { rest, floods }).slice(1)).toEqual([
    "p99 100.0 ms of 20 requests, 10.0 times that: first",
    "p99 within 2 times that: 1 floods; fewer than 20 requests beside them: 0",
  ]);
});
