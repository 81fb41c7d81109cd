/**
 * Where each number stands in the memory of a thread's metrics: an array of
 * doubles that the thread writes and the main thread reads. Of doubles, because
 * they count on where 32 bits would wrap; every machine that Node runs on reads
 * one whole while another thread writes it.
 */

import type { ProtocolName } from "connect-gateway";
import type { RefusalKind } from "connect-gateway/server";
import { PlantService } from "../../../gen/plantstore/v1/plant_service_pb.ts";
import { codeNames } from "../call-names.ts";

/** Labels of `method`: what is not ours is one series, whatever it is called. */
export const methodNames: readonly string[] = [
  ...PlantService.methods.map(({ name }) => name),
  "other",
];

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

class Layout {
  length = 0;

  take(count = 1): number {
    const at = this.length;
    this.length += count;
    return at;
  }

  takeHistogram(bounds: readonly number[]): HistogramPlace {
    return { at: this.take(bounds.length + 2), bounds };
  }
}

/** From an answer without the disk to what a client has long given up. */
const requestSeconds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
const commitSeconds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Up to `batchRowsMax`. */
const commitRows = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const loopSeconds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1];

const layout = new Layout();

export const places = {
  /** Of each method, each protocol; of those, each code. */
  requests: layout.take(methodNames.length * protocolNames.length * codeNames.length),
  requestSeconds: protocolNames.map(() => layout.takeHistogram(requestSeconds)),
  refusals: layout.take(refusalKinds.length),
  connectionsOpened: layout.take(),
  receivedBytes: layout.take(),
  sentBytes: layout.take(),
  commitSeconds: layout.takeHistogram(commitSeconds),
  commitRows: layout.takeHistogram(commitRows),
  commitsFailed: layout.take(),
  loopDelaySeconds: layout.takeHistogram(loopSeconds),
  loopActiveSeconds: layout.take(),
  loopIdleSeconds: layout.take(),
  gcSeconds: layout.take(),
  // Gauges: what a thread that has ended has none of.
  requestsInFlight: layout.take(),
  connections: layout.take(),
  queueRows: layout.take(),
  queueBytes: layout.take(),
  heapUsedBytes: layout.take(),
} as const;

const firstGauge = places.requestsInFlight;

/** @returns zeros for one thread, which it and the main thread share. */
export function createNumbersMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(layout.length * Float64Array.BYTES_PER_ELEMENT);
}

/** A thread has ended: what it counted stays, what it had is gone. */
export function clearGauges(numbers: Float64Array): void {
  numbers.fill(0, firstGauge);
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
