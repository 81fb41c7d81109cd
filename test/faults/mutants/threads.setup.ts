/** Mutants in threads that tests start: makes them active there, and hears which were reached. */
import { syncBuiltinESMExports } from "node:module";
import threads, { isMainThread, parentPort, type WorkerOptions } from "node:worker_threads";

type Counts = Record<string, number>;

/** Stryker's, of this thread. */
interface Namespace {
  currentTestId?: string;
  mutantCoverage?: { static: Counts; perTest: Record<string, Counts> };
}

const here = globalThis as { __stryker__?: Namespace };
/** What Stryker puts into a file looks here if its thread says nothing else. */
const variable = "__STRYKER_ACTIVE_MUTANT__";

if (isMainThread) await watchThreads();
else process.once("exit", () => parentPort?.postMessage({ reached: countsOf("") }));

/** How often each mutant was reached in a test; without a test, since the start of the thread. */
function countsOf(test: string): Counts {
  here.__stryker__ ??= {};
  here.__stryker__.mutantCoverage ??= { static: {}, perTest: {} };
  const coverage = here.__stryker__.mutantCoverage;
  if (test === "") return coverage.static;
  coverage.perTest[test] ??= {};
  return coverage.perTest[test];
}

async function watchThreads(): Promise<void> {
  const { afterAll, beforeAll, inject } = await import("vitest");
  if (inject("mode") === "mutant") {
    beforeAll(() => {
      process.env[variable] = inject("activeMutant");
    });
    afterAll(() => {
      delete process.env[variable];
    });
    return;
  }
  // Once for all files of a process.
  if (threads.Worker.name === "WatchedWorker") return;
  threads.Worker = class WatchedWorker extends threads.Worker {
    readonly #counts = countsOf(here.__stryker__?.currentTestId ?? "");
    constructor(url: URL, options: WorkerOptions) {
      super(url, { ...options, execArgv: ["--import", import.meta.url] });
    }
    /** Its users did not send for what the thread reached. */
    override emit(event: string | symbol, ...[first]: unknown[]): boolean {
      const { reached } = (event === "message" ? first : {}) as { reached?: Counts };
      if (reached === undefined) return super.emit(event, first);
      for (const [id, n] of Object.entries(reached)) this.#counts[id] = (this.#counts[id] ?? 0) + n;
      return true;
    }
  };
  syncBuiltinESMExports();
}

declare module "vitest" {
  interface ProvidedContext {
    mode: "dry-run" | "mutant";
    activeMutant: string;
  }
}
