import { setTimeout as delay } from "node:timers/promises";

/** What servers hold open and clients do not: listeners, threads, watched files. */
const kinds = ["TCPServerWrap", "MessagePort", "StatWatcher"];

/** What was closed is gone soon after; on a busy machine it takes a while. */
const patienceMs = 5000;

/** Tests that run at the same time share the process, so their servers are counted together. */
let serverCount = 0;
let before: readonly string[] = [];

/**
 * Call before a server starts.
 *
 * @returns Call it when the server has closed, or has failed to start: the last
 * one rejects if any of the servers has left something behind.
 */
export function beginLeakCheck(): () => Promise<void> {
  if (serverCount++ === 0) before = openResources();
  return async () => {
    serverCount--;
    const deadline = performance.now() + patienceMs;
    let left = leftBehind();
    while (serverCount === 0 && left.length > 0) {
      if (performance.now() > deadline) {
        throw new Error(`servers left behind: ${left.join(", ")}`);
      }
      await delay(10);
      left = leftBehind();
    }
  };
}

function leftBehind(): string[] {
  const left = openResources();
  for (const kind of before) {
    const index = left.indexOf(kind);
    if (index !== -1) left.splice(index, 1);
  }
  return left;
}

function openResources(): string[] {
  return process.getActiveResourcesInfo().filter((kind) => kinds.includes(kind));
}
