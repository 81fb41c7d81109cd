/** A serving thread: the whole service, except for what exists once. See service.ts. */
import { parentPort, workerData } from "node:worker_threads";
import type { Log } from "connect-gateway/logging";
import { stackOf } from "connect-gateway/logging";
import { openAuthenticator } from "../../auth/authenticator.ts";
import type { PlantStore } from "../../plant.ts";
import { heapBytesMin } from "../../store/heap-bytes.ts";
import { joinStore, openStore } from "../../store/open.ts";
import { type CommitLimits, defaultLimits } from "../../store/options.ts";
import { reportObstacles } from "../obstacles.ts";
import { createRateLimits } from "../rate-limit/rate-limits.ts";
import { serve } from "../serve.ts";
import { resolveSettings, type ServerSettings } from "../settings/settings.ts";
import type { LogEntry, ServingReport, ServingRequest, ServingSetup } from "./messages.ts";
import { Readiness } from "./readiness.ts";

/** How often this thread reports to the others whether it has a database. */
const readinessIntervalMs = 250;

const setup = workerData as ServingSetup;
const readiness = Readiness.share(setup.readiness);
const metrics = setup.metrics && (await measure(setup.metrics));

const settings = resolveSettings({
  ...setup.options,
  port: setup.port,
  limits: {
    ...setup.options.limits,
    connectionsMax: setup.connectionsMax,
    connectionsPerAddressMax: setup.connectionsPerAddressMax,
  },
  log: createLog(),
});
const store =
  setup.store === undefined
    ? await openOwnStore(settings)
    : joinStore(setup.store, {
        limits: partOfLimits(settings),
        observer: metrics?.commits,
        obstacle: () => readiness.obstacle(),
      });
const authenticator = await openAuthenticator(settings.auth, settings.log.warn);
const rateLimits = createRateLimits(settings, setup.rateLimits);
const parts = { authenticator, store, rateLimits, others: readiness, metrics: metrics?.thread };
const serving = await serve(settings, parts);
parentPort?.once("message", (_: ServingRequest) => {
  // Everything is closed then, and pending messages are delivered.
  void serving.close().then(() => {
    metrics?.thread.close();
    process.exit(0);
  });
});
report({ kind: "listening", port: serving.port });

/** Loaded only if metrics are on. */
async function measure(memory: SharedArrayBuffer) {
  const { createThreadMetrics } = await import("../metrics/thread-metrics.ts");
  return createThreadMetrics(memory);
}

async function openOwnStore(settings: ServerSettings): Promise<PlantStore> {
  const { threads, number } = setup;
  const own = await openStore(settings.store, {
    threads,
    limits: partOfLimits(settings),
    observer: metrics?.commits,
    onObstacle: reportObstacles(settings.log),
  });
  setInterval(() => readiness.set(number, own.obstacle()), readinessIntervalMs).unref();
  return own;
}

/** The thread's part of the service's queue, with room for the largest plant. */
function partOfLimits({ limits }: ServerSettings): Partial<CommitLimits> {
  const { threads } = setup;
  const largest = heapBytesMin + 2 * limits.bodyBytesMax;
  return {
    waitingRowsMax: Math.ceil(defaultLimits.waitingRowsMax / threads),
    waitingBytesMax: Math.max(Math.ceil(defaultLimits.waitingBytesMax / threads), largest),
  };
}

/** Sends log lines to the main thread, which writes repeated ones once. */
function createLog(): Log {
  const write = (level: LogEntry["level"]) => (message: string, cause?: unknown) => {
    const text =
      cause instanceof Error ? { message: cause.message, stack: stackOf(cause) } : undefined;
    report({ kind: "log", level, message, cause: text });
  };
  return { info: write("info"), warn: write("warn"), error: write("error") };
}

function report(message: ServingReport): void {
  parentPort?.postMessage(message);
}
