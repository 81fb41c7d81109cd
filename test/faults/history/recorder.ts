import type { StoredPlant } from "../../support/stored-plants.ts";
import { count, type Run } from "../campaign.ts";
import {
  checkHistory,
  type RequestOutcome,
  type RequestRecord,
  type StoreRead,
  type Violation,
} from "./check.ts";
import { checkSqlite } from "./integrity.ts";
import { starvedMs } from "./starvation.ts";

/** How a store is compared with what its clients were told. */
export interface ReadableStore {
  read(): Promise<readonly StoredPlant[]>;
  /** The file of SQLite, which checks it. */
  readonly url?: string;
}

/** Records what clients requested and received, and what the store was seen to contain. */
export class Recorder {
  readonly requests: RequestRecord[] = [];
  /** The number of requests by outcome. */
  readonly counts: Record<string, number> = {};
  readonly #reads: StoreRead[] = [];

  /** Makes a request. If it throws, the campaign is broken. */
  async request(
    asked: Pick<RequestRecord, "client" | "plant" | "deadlineMs">,
    ask: () => Promise<RequestOutcome>,
  ): Promise<RequestOutcome> {
    const startMs = performance.now();
    const outcome = await ask();
    this.adopt([{ ...asked, startMs, endMs: performance.now(), outcome }]);
    return outcome;
  }

  /** Adds requests that another recorder has seen. */
  adopt(requests: readonly RequestRecord[]): void {
    for (const request of requests) {
      const { outcome } = request;
      this.requests.push(request);
      count(this.counts, outcome.kind === "unknown" ? outcome.why : outcome.kind);
    }
  }

  async read({ read }: ReadableStore): Promise<void> {
    const startMs = performance.now();
    const rows = await read();
    this.#reads.push({ startMs, endMs: performance.now(), rows });
  }

  get stored(): number {
    return this.counts["stored"] ?? 0;
  }

  /** Reads the store once more, and reports what is wrong with it, and the outcomes of requests. */
  async judge(run: Run, where: string, store: ReadableStore): Promise<void> {
    await this.read(store);
    const { requests } = this;
    for (const [outcome, times] of Object.entries(this.counts)) {
      run.count(`${where}: ${outcome}`, times);
    }
    run.find(where, linesOf(checkHistory({ requests, reads: this.#reads, starvedMs })));
    const [, file] = /^sqlite:(.*)$/.exec(store.url ?? "") ?? [];
    if (file !== undefined) run.find(`${where}: damaged`, checkSqlite(file));
  }
}

/** A line for each violation. */
export function linesOf(violations: readonly Violation[]): string[] {
  return violations.map(({ kind, text }) => `${kind}: ${text}`);
}
