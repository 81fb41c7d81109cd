import type { Registry } from "@prometheus-io/client";
import { version } from "../version.ts";
import { clearGauges, createNumbersMemory } from "./layout.ts";
import { createRegistry } from "./registry.ts";
import { ThreadMetrics } from "./thread-metrics.ts";

/** The metrics of one service, whatever threads it has; in the main thread. */
export class ServiceMetrics {
  /** What the main thread measures. */
  readonly main: ThreadMetrics;
  readonly #memories: readonly SharedArrayBuffer[];
  readonly #numbers: readonly Float64Array[];
  readonly #registry: Registry;
  #isReady: () => boolean = () => false;

  /** @param threads That serve beside the main thread; none where that serves alone. */
  constructor(threads: number) {
    const memories = Array.from({ length: 1 + threads }, createNumbersMemory);
    this.#memories = memories;
    this.#numbers = memories.map((memory) => new Float64Array(memory));
    this.main = new ThreadMetrics(this.memoryOf(0));
    this.#registry = createRegistry(this.#numbers, { version, node: process.versions.node }, () =>
      this.#isReady(),
    );
  }

  /** The service has started: until then it is not ready. @param isReady What `/readyz` says. */
  watchReadiness(isReady: () => boolean): void {
    this.#isReady = isReady;
  }

  /** The memory of a thread, for a ThreadMetrics in it. @param number From 1. */
  memoryOf(number: number): SharedArrayBuffer {
    const memory = this.#memories[number];
    if (memory === undefined) throw new RangeError(`there is no thread ${number}`);
    return memory;
  }

  /** A thread has ended. What it counted stays, and the next one of its number counts on. */
  threadEnded(number: number): void {
    const numbers = this.#numbers[number];
    if (numbers !== undefined) clearGauges(numbers);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  render(): Promise<string> {
    this.main.sample();
    return this.#registry.metrics();
  }

  close(): void {
    this.main.close();
  }
}
