/**
 * Well-behaved clients on a separate thread, so that they wait only for the server and not for the
 * attackers' event loop.
 */
import { setTimeout as delay } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { Recorder } from "../history/recorder.ts";
import { openCallers } from "../load/caller.ts";
import { LoadClient } from "../load/client.ts";

export interface WitnessSetup {
  readonly url: string;
  readonly seed: number;
}

const clientCount = 3;

/** A client's pause between two requests: it is a witness, not another flood. */
const pauseMs = 15;

/** Sent to the server. Long, because no request of a well-behaved client may fail. */
const deadlinesMs = [8000, 10_000] as const;

const { url, seed } = workerData as WitnessSetup;
const recorder = new Recorder();
const callers = openCallers(url);
let isStopped = false;

async function use(client: LoadClient): Promise<void> {
  while (!isStopped) {
    await client.step(callers);
    await delay(pauseMs);
  }
}

parentPort?.once("message", () => {
  isStopped = true;
});
const clients = Array.from(
  { length: clientCount },
  (_, index) => new LoadClient(index, { seed, recorder, deadlinesMs }),
);
await Promise.all(clients.map(use));
for (const caller of callers) caller[Symbol.dispose]();
parentPort?.postMessage(recorder.requests);
