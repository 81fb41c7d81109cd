import { setTimeout as delay } from "node:timers/promises";

/** Resources that servers hold open and clients do not: listeners, threads, watched files. */
const kinds = ["TCPServerWrap", "MessagePort", "StatWatcher"];

/** Closed resources disappear soon, but it takes a while on a busy machine. */
const patienceMs = 5000;

/** Concurrent tests share the process, so their servers are counted together. */
let serverCount = 0;
let before: readonly string[] = [];

/**
 * Call before a server starts.
 *
 * @returns A function to call when the server has closed or failed to start. The last one rejects
 * if any of the servers left something behind.
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
