/** What is told of a service: each metric, and how it is made of the numbers of its threads. */
import { codeNames } from "../rpc/call-names.ts";
import { type HistogramPlace, type MetricsLayout, protocolNames, refusalKinds } from "./layout.ts";

/** The numbers of a service's threads. The first is the main thread. */
export type ServiceNumbers = readonly Float64Array[];

export type Labels = Readonly<Record<string, string>>;

/** One line. */
interface Sample {
  readonly labels: Labels;
  readonly value: number;
  /** Where it is not the metric's. */
  readonly metricName?: string;
}

export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly samples: () => Sample[];
}

/** @returns what all threads have at a place. */
export function sumOf(numbers: ServiceNumbers): (at: number) => number {
  return (at) => numbers.reduce((total, own) => total + (own[at] ?? 0), 0);
}

/** @param prefix What the names begin with: `connect_gateway`. */
export function createFamilies(
  prefix: string,
  layout: MetricsLayout,
  numbers: ServiceNumbers,
): MetricFamily[] {
  const sum = sumOf(numbers);
  const one = (at: number) => () => [{ labels: {}, value: sum(at) }];
  const eachThread = (at: number) => () =>
    numbers.map((own, index) => ({ labels: threadLabel(index), value: own[at] ?? 0 }));

  return [
    {
      name: `${prefix}_requests_total`,
      help: "Requests that have ended, by method, protocol and google.rpc code.",
      type: "counter",
      samples: () => requestSamples(layout, sum),
    },
    histogram(`${prefix}_request_duration_seconds`, {
      help: "From the head of a request to its answer, without streams: they end when clients like.",
      samples: (name) =>
        protocolNames.flatMap((protocol, index) =>
          histogramSamples(name, layout.requestSeconds[index], { protocol }, sum),
        ),
    }),
    {
      name: `${prefix}_requests_in_flight`,
      help: "Requests that have begun and not ended.",
      type: "gauge",
      samples: one(layout.requestsInFlight),
    },
    {
      name: `${prefix}_http_refusals_total`,
      help: "What was refused by the rules of HTTP, mostly before it was a request.",
      type: "counter",
      samples: () =>
        refusalKinds.map((reason, index) => ({
          labels: { reason },
          value: sum(layout.refusals + index),
        })),
    },
    {
      name: `${prefix}_connections`,
      help: "Open connections.",
      type: "gauge",
      samples: one(layout.connections),
    },
    {
      name: `${prefix}_connections_opened_total`,
      help: "Connections that were opened.",
      type: "counter",
      samples: one(layout.connectionsOpened),
    },
    {
      name: `${prefix}_received_bytes_total`,
      help: "Bytes that came over connections.",
      type: "counter",
      samples: one(layout.receivedBytes),
    },
    {
      name: `${prefix}_sent_bytes_total`,
      help: "Bytes that were written to connections.",
      type: "counter",
      samples: one(layout.sentBytes),
    },
    {
      name: `${prefix}_tls_certificate_expiration_timestamp_seconds`,
      help: "When the TLS certificate in use expires, in seconds since the epoch. Absent without TLS.",
      type: "gauge",
      samples: () => earliest(numbers, layout.certificateExpirySeconds),
    },
    histogram(`${prefix}_event_loop_delay_seconds`, {
      help: "How late timers fire, by thread.",
      samples: (name) =>
        numbers.flatMap((own, index) =>
          histogramSamples(name, layout.loopDelaySeconds, threadLabel(index), (at) => own[at] ?? 0),
        ),
    }),
    {
      name: `${prefix}_event_loop_active_seconds_total`,
      help: "Time that the event loop was at work, by thread.",
      type: "counter",
      samples: eachThread(layout.loopActiveSeconds),
    },
    {
      name: `${prefix}_event_loop_idle_seconds_total`,
      help: "Time that the event loop waited for work, by thread.",
      type: "counter",
      samples: eachThread(layout.loopIdleSeconds),
    },
    {
      name: `${prefix}_gc_seconds_total`,
      help: "Time in garbage collection, by thread.",
      type: "counter",
      samples: eachThread(layout.gcSeconds),
    },
    {
      name: `${prefix}_heap_used_bytes`,
      help: "What objects hold of the heap, by thread.",
      type: "gauge",
      samples: eachThread(layout.heapUsedBytes),
    },
  ];
}

/** Of the threads that have a value: each loads a renewed certificate by itself. */
function earliest(numbers: ServiceNumbers, at: number): Sample[] {
  const values = numbers.map((own) => own[at] ?? 0).filter((value) => value > 0);
  return values.length === 0 ? [] : [{ labels: {}, value: Math.min(...values) }];
}

/** As `--threads` counts: from 1. */
function threadLabel(index: number): Labels {
  return { thread: index === 0 ? "main" : String(index) };
}

/** All that there can be of a method, so that none begins at 1. */
function requestSamples(layout: MetricsLayout, sum: (at: number) => number): Sample[] {
  return layout.methods.flatMap(([method, row]) =>
    protocolNames.flatMap((protocol, protocolIndex) =>
      codeNames.map((code, number) => ({
        labels: { method, protocol, code },
        value: sum(layout.requestPlace(row, protocolIndex, number)),
      })),
    ),
  );
}

export function histogram(
  name: string,
  { help, samples }: { help: string; samples: (name: string) => Sample[] },
): MetricFamily {
  return { name, help, type: "histogram", samples: () => samples(name) };
}

export function histogramSamples(
  name: string,
  place: HistogramPlace | undefined,
  labels: Labels,
  read: (at: number) => number,
): Sample[] {
  if (place === undefined) return [];
  const { at, bounds } = place;
  let count = 0;
  const buckets = [...bounds, "+Inf"].map((bound, index) => {
    count += read(at + index);
    return { metricName: `${name}_bucket`, labels: { ...labels, le: String(bound) }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: read(at + bounds.length + 1) },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
