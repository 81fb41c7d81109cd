/**
 * Where each number stands in the memory of a thread's metrics: an array of
 * doubles that the thread writes and the main thread reads. Of doubles, because
 * they count on where 32 bits would wrap; every machine that Node runs on reads
 * one whole while another thread writes it.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import type { ProtocolName } from "../adapter/observer.ts";
import { codeNames } from "../rpc/call-names.ts";
import type { RefusalKind } from "../server/refusal.ts";

export const protocolNames: readonly ProtocolName[] = ["rest", "connect", "grpc", "grpc-web"];

export const refusalKinds: readonly RefusalKind[] = [
  "malformed",
  "tunnel",
  "late",
  "expectation",
  "oversized",
];

/** Numbers in a row: one for each bucket, one for what is above all, the sum. */
export interface HistogramPlace {
  readonly at: number;
  /** Upper bounds of the buckets, in base units. */
  readonly bounds: readonly number[];
}

/** From an answer without the disk to what a client has long given up. */
const requestSeconds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
const loopSeconds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1];

export interface LayoutOptions {
  /** What the label `method` says of a method. */
  readonly nameOf: (method: DescMethod) => string;
  /** The names that there are from the start. */
  readonly names?: readonly string[];
  /** How many names there may be, as calls come; the others are one series. Default: those from the start. */
  readonly namesMax?: number;
}

/** The same in all threads, whose layouts are made by the same code. */
export class MetricsLayout {
  #length = 0;
  readonly #gauges: number[] = [];
  readonly #names: string[];
  readonly #namesMax: number;
  readonly #nameOf: LayoutOptions["nameOf"];
  readonly #known = new WeakMap<DescMethod, number>();
  readonly #requests: number;
  readonly requestSeconds: readonly HistogramPlace[];
  readonly refusals: number;
  readonly connectionsOpened: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly loopDelaySeconds: HistogramPlace;
  readonly loopActiveSeconds: number;
  readonly loopIdleSeconds: number;
  readonly gcSeconds: number;
  readonly requestsInFlight: number;
  readonly connections: number;
  readonly heapUsedBytes: number;
  /** Since the epoch; 0 without TLS. */
  readonly certificateExpirySeconds: number;

  constructor({ nameOf, names = [], namesMax = names.length }: LayoutOptions) {
    this.#nameOf = nameOf;
    this.#names = [...names];
    this.#namesMax = namesMax;
    // Of each method, each protocol; of those, each code.
    this.#requests = this.take((namesMax + 1) * protocolNames.length * codeNames.length);
    this.requestSeconds = protocolNames.map(() => this.takeHistogram(requestSeconds));
    this.refusals = this.take(refusalKinds.length);
    this.connectionsOpened = this.take();
    this.receivedBytes = this.take();
    this.sentBytes = this.take();
    this.loopDelaySeconds = this.takeHistogram(loopSeconds);
    this.loopActiveSeconds = this.take();
    this.loopIdleSeconds = this.take();
    this.gcSeconds = this.take();
    this.requestsInFlight = this.takeGauge();
    this.connections = this.takeGauge();
    this.heapUsedBytes = this.takeGauge();
    this.certificateExpirySeconds = this.takeGauge();
  }

  /** Numbers in a row. */
  take(count = 1): number {
    const at = this.#length;
    this.#length += count;
    return at;
  }

  /** What a thread that has ended has none of. */
  takeGauge(): number {
    const at = this.take();
    this.#gauges.push(at);
    return at;
  }

  takeHistogram(bounds: readonly number[]): HistogramPlace {
    return { at: this.take(bounds.length + 2), bounds };
  }

  /** The labels of `method` so far, each with its row: what has no name of its own is one series. */
  get methods(): readonly (readonly [name: string, row: number])[] {
    return [...this.#names.map((name, row) => [name, row] as const), ["other", this.#namesMax]];
  }

  rowOf(method: DescMethod | undefined): number {
    if (method === undefined) return this.#namesMax;
    let row = this.#known.get(method);
    if (row === undefined) {
      row = this.#rowOfName(this.#nameOf(method));
      this.#known.set(method, row);
    }
    return row;
  }

  #rowOfName(name: string): number {
    const row = this.#names.indexOf(name);
    if (row !== -1) return row;
    return this.#names.length < this.#namesMax ? this.#names.push(name) - 1 : this.#namesMax;
  }

  /** @param code A number that google.rpc.Code does not have is unknown. */
  requestPlace(row: number, protocolIndex: number, code: number): number {
    const known = codeNames[code] === undefined ? codeNames.indexOf("UNKNOWN") : code;
    const series = row * protocolNames.length + protocolIndex;
    return this.#requests + series * codeNames.length + known;
  }

  /** @returns zeros for one thread, which it and the main thread share. */
  createMemory(): SharedArrayBuffer {
    return new SharedArrayBuffer(this.#length * Float64Array.BYTES_PER_ELEMENT);
  }

  /** A thread has ended: what it counted stays, what it had is gone. */
  clearGauges(numbers: Float64Array): void {
    for (const at of this.#gauges) numbers[at] = 0;
  }
}

export function add(numbers: Float64Array, at: number, value: number): void {
  numbers[at] = (numbers[at] ?? 0) + value;
}

/** Puts a value into its bucket. */
export function observe(
  numbers: Float64Array,
  { at, bounds }: HistogramPlace,
  value: number,
): void {
  let bucket = 0;
  while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket++;
  add(numbers, at + bucket, 1);
  add(numbers, at + bounds.length + 1, value);
}
