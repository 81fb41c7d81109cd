import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Log } from "connect-gateway/logging";
import type { LogEntry, ServingReport, ServingRequest, ServingSetup } from "./messages.ts";

/** A serving thread, seen from the main thread. */
export interface ServingThread {
  /** Resolves to its port; rejects if the thread ends before it listens. */
  readonly listening: Promise<number>;
  /** Resolves when the thread has ended: with the reason, or undefined after a drain. */
  readonly ended: Promise<Error | undefined>;
  /** Lets it finish its requests and exit. Works during startup too. */
  drain(): void;
}

/** The worker is a .ts file in the sources and a .js file in the build, like this file. */
const workerUrl = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);

export function startServingThread(setup: ServingSetup, log: Log): ServingThread {
  const worker = new Worker(workerUrl, {
    workerData: setup,
    transferList: setup.store === undefined ? [] : [setup.store.port],
    name: `plant-store-${setup.number}`,
  });
  const listening = Promise.withResolvers<number>();
  const ended = Promise.withResolvers<Error | undefined>();
  let error: Error | undefined;
  let isDraining = false;
  worker.on("message", (report: ServingReport) => {
    if (report.kind === "listening") listening.resolve(report.port);
    else log[report.level](report.message, errorFrom(report));
  });
  worker.on("error", (thrown) => {
    error = thrown instanceof Error ? thrown : new Error(String(thrown));
  });
  worker.once("exit", (code) => {
    if (!isDraining) error ??= new Error(`it ended by itself, with code ${code}`);
    listening.reject(error ?? new Error("it was told to end before it listened"));
    ended.resolve(error);
  });
  // Callers that only await `ended` get the error there.
  listening.promise.catch(() => {});
  return {
    listening: listening.promise,
    ended: ended.promise,
    drain() {
      isDraining = true;
      worker.postMessage("drain" satisfies ServingRequest);
    },
  };
}

function errorFrom({ cause }: LogEntry): Error | undefined {
  if (cause === undefined) return undefined;
  return Object.assign(new Error(cause.message), { stack: cause.stack });
}
