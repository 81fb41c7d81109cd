import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { RequestRecord } from "../history/check.ts";
import type { WitnessSetup } from "./witness-thread.ts";

/** Well-behaved clients that run all the time on a separate thread. */
export function openWitness(workerData: WitnessSetup) {
  const url = new URL("witness-thread.ts", import.meta.url);
  const thread = new Worker(url, { workerData, name: "witness" });
  const exit = once(thread, "exit").then(([code]) => {
    throw new Error(`the witness ended with ${code}`);
  });
  const requests = Promise.race([once(thread, "message"), exit]);
  // It may fail while nobody waits for it: `finish` reports it.
  requests.catch(() => {});
  return {
    /** Lets the running requests end. @returns All. @throws What the thread has thrown. */
    async finish(): Promise<readonly RequestRecord[]> {
      thread.postMessage("finish");
      const [all] = await requests;
      return all;
    },
    async [Symbol.asyncDispose]() {
      await thread.terminate();
    },
  };
}
