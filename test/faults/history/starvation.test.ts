/** How long processes have waited for a CPU between two times. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { createStarvationClock, readWaits, type Waits } from "./starvation.ts";

const waits = (...processes: [pid: number, threads: Record<string, number>][]): Waits =>
  new Map(processes.map(([pid, threads]) => [pid, new Map(Object.entries(threads))]));

/** A clock of these samples, one a second. */
function clockOf(...samples: Waits[]) {
  const rest = [...samples];
  const clock = createStarvationClock(() => rest.shift() ?? new Map(), 0);
  for (let second = 1; second < samples.length; second++) clock.sample(second * 1000);
  return clock;
}

test("earlier waiting does not count", () => {
  const clock = clockOf(waits([1, { main: 5000 }]), waits([1, { main: 5200 }]));
  expect(clock.starvedMs(0, 1000)).toBe(200);
});

test("in one process, the thread that waited longest counts; several processes add up", () => {
  const clock = clockOf(
    waits([1, { main: 0, other: 0 }], [2, { main: 0 }]),
    waits([1, { main: 100, other: 300 }], [2, { main: 50 }], [3, { main: 7 }]),
  );
  expect(clock.starvedMs(0, 1000)).toBe(357);
});

test("a process that has ended does not reduce the sum", () => {
  const clock = clockOf(waits([1, { main: 0 }]), waits([1, { main: 100 }]), waits());
  expect(clock.starvedMs(0, 2000)).toBe(100);
});

test("times between samples get all of their own waiting, and no other", () => {
  const samples = [0, 10, 30, 70, 150].map((main) => waits([1, { main }]));
  expect(clockOf(...samples).starvedMs(1500, 2500)).toBe(60);
  expect(clockOf(...samples).starvedMs(3500, 9000)).toBe(80);
});

const onLinux = test.skipIf(process.platform !== "linux");

onLinux("two processes that share one CPU wait for it", async () => {
  const loops = "while :; do :; done & while :; do :; done";
  const options = { stdio: "ignore", detached: true } as const;
  const shell = spawn("taskset", ["-c", "0", "sh", "-c", loops], options);
  const { pid = 0 } = shell;
  try {
    await once(shell, "spawn");
    const waitedMs = () => readWaits([pid]).get(pid)?.values().next().value ?? 0;
    while (waitedMs() < 50) await delay(10);
    expect(waitedMs()).toBeGreaterThanOrEqual(50);
  } finally {
    process.kill(-pid, "SIGKILL");
  }
});
