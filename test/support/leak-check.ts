/** What servers hold open and clients do not: listeners, threads, watched files. */
const kinds = ["TCPServerWrap", "MessagePort", "StatWatcher"];

/** Tests that run at the same time share the process, so their servers are counted together. */
let serverCount = 0;
let before: readonly string[] = [];

/**
 * Call before a server starts.
 *
 * @returns Call it when the server has closed, or has failed to start: the last
 * one throws if any of the servers has left something behind.
 */
export function beginLeakCheck(): () => void {
  if (serverCount++ === 0) before = openResources();
  return () => {
    if (--serverCount > 0) return;
    const left = openResources();
    for (const kind of before) {
      const index = left.indexOf(kind);
      if (index !== -1) left.splice(index, 1);
    }
    if (left.length > 0) throw new Error(`servers left behind: ${left.join(", ")}`);
  };
}

function openResources(): string[] {
  return process.getActiveResourcesInfo().filter((kind) => kinds.includes(kind));
}
