import type { StoredPlant } from "../../support/stored-plants.ts";
import { count } from "../campaign.ts";
import { checkHistory, type Violation } from "./check.ts";
import type { RequestOutcome, RequestRecord, StoreRead } from "./history.ts";
import { starvedMs } from "./starvation.ts";

/** Records a history as it happens. */
export class Recorder {
  readonly #requests: RequestRecord[] = [];
  readonly #reads: StoreRead[] = [];
  readonly #counts: Record<string, number> = {};
  readonly #note: ((request: RequestRecord) => void) | undefined;

  /** @param note Called for each request. */
  constructor(note?: (request: RequestRecord) => void) {
    this.#note = note;
  }

  /** Makes a request. If it throws, the campaign is broken. */
  async request(
    { client, plant, deadlineMs }: Pick<RequestRecord, "client" | "plant" | "deadlineMs">,
    ask: () => Promise<RequestOutcome>,
  ): Promise<RequestOutcome> {
    const startMs = performance.now();
    const outcome = await ask();
    const endMs = performance.now();
    const request = { client, plant, deadlineMs, startMs, endMs, outcome };
    this.#add(request);
    this.#note?.(request);
    return outcome;
  }

  /** Adds the requests of another thread's recorder. */
  adopt(requests: readonly RequestRecord[]): void {
    for (const request of requests) this.#add(request);
  }

  async read(read: () => Promise<readonly StoredPlant[]>): Promise<void> {
    const startMs = performance.now();
    const rows = await read();
    this.#reads.push({ startMs, endMs: performance.now(), rows });
  }

  get requests(): readonly RequestRecord[] {
    return this.#requests;
  }

  /** The number of requests by outcome. */
  get counts(): Readonly<Record<string, number>> {
    return this.#counts;
  }

  get stored(): number {
    return this.#counts["stored"] ?? 0;
  }

  check(): Violation[] {
    return checkHistory({ requests: this.#requests, reads: this.#reads, starvedMs });
  }

  #add(request: RequestRecord): void {
    const { outcome } = request;
    this.#requests.push(request);
    count(this.#counts, outcome.kind === "unknown" ? outcome.why : outcome.kind);
  }
}

/** A line for each violation. */
export function linesOf(violations: readonly Violation[], where: string): string[] {
  return violations.map(({ kind, text }) => `${where}: ${kind}: ${text}`);
}
