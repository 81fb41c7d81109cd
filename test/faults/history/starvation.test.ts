/** How long processes have waited for a CPU between two times. */
import { expect, test } from "vitest";
import { createStarvationClock, type Waits } from "./starvation.ts";

const waits = (...processes: [pid: number, threads: Record<string, number>][]): Waits =>
  new Map(processes.map(([pid, threads]) => [pid, new Map(Object.entries(threads))]));

const inOne = (...ms: readonly number[]) => ms.map((main) => waits([1, { main }]));

test.each<[what: string, samples: Waits[], fromMs: number, toMs: number, starvedMs: number]>([
  ["earlier waiting does not count", inOne(5000, 5200), 0, 1000, 200],
  [
    "in one process, the thread that waited longest counts; several processes add up",
    [
      waits([1, { main: 0, other: 0 }], [2, { main: 0 }]),
      waits([1, { main: 100, other: 300 }], [2, { main: 50 }], [3, { main: 7 }]),
    ],
    ...([0, 1000, 357] as const),
  ],
  ["a process that has ended does not reduce the sum", [...inOne(0, 100), waits()], 0, 2000, 100],
  ["times between samples get all of their own waiting", inOne(0, 10, 30, 70, 150), 1500, 2500, 60],
  ["and no other", inOne(0, 10, 30, 70, 150), 3500, 9000, 80],
])("%s", (_what, [first = waits(), ...rest], fromMs, toMs, starvedMs) => {
  const samples = [first, ...rest];
  const clock = createStarvationClock(() => samples.shift() ?? waits(), 0);
  rest.forEach((_, second) => void clock.sample((second + 1) * 1000));
  expect(clock.starvedMs(fromMs, toMs)).toBe(starvedMs);
});
