/**
 * Preloaded into a server with `--import`. SIGUSR2 makes its first serving thread die in the way
 * that TEST_CRASH says.
 */
import { existsSync, writeFileSync } from "node:fs";
import { BroadcastChannel, isMainThread, threadName } from "node:worker_threads";

const channel = new BroadcastChannel("crash");
channel.unref();
const how = process.env["TEST_CRASH"];

if (isMainThread) {
  process.on("SIGUSR2", () => channel.postMessage("crash"));
} else if (threadName === "plant-store-1") {
  // Marks that a thread has died, in the test's directory.
  if (how === "for good" && existsSync("crashed")) throw new Error("crash at the start");
  channel.onmessage = () => {
    if (how === "for good") writeFileSync("crashed", "");
    setImmediate(how === "memory" ? useUpMemory : fail);
  };
}

function fail(): void {
  throw new Error("crash");
}

/** In small pieces: one large allocation makes V8 end the whole process, not only the thread. */
function useUpMemory(): void {
  let kept: unknown;
  for (let i = 0; ; i++) kept = { kept, i };
}
