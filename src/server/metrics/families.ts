/** What is told of a service: each metric, and how it is made of the numbers of its threads. */
import { codeNames } from "../call-names.ts";
import { requestPlace } from "./call-metrics.ts";
import { type HistogramPlace, methodNames, places, protocolNames, refusalKinds } from "./layout.ts";

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

export function createFamilies(numbers: ServiceNumbers): MetricFamily[] {
  const sum = (at: number) => numbers.reduce((total, own) => total + (own[at] ?? 0), 0);
  const one = (at: number) => () => [{ labels: {}, value: sum(at) }];
  const eachThread = (at: number) => () =>
    numbers.map((own, index) => ({ labels: threadLabel(index), value: own[at] ?? 0 }));

  return [
    {
      name: "plant_store_requests_total",
      help: "Requests that have ended, by method, protocol and google.rpc code.",
      type: "counter",
      samples: () => requestSamples(sum),
    },
    histogram("plant_store_request_duration_seconds", {
      help: "From the head of a request to its answer, without streams: they end when clients like.",
      samples: (name) =>
        protocolNames.flatMap((protocol, index) =>
          histogramSamples(name, places.requestSeconds[index], { protocol }, sum),
        ),
    }),
    {
      name: "plant_store_requests_in_flight",
      help: "Requests that have begun and not ended.",
      type: "gauge",
      samples: one(places.requestsInFlight),
    },
    {
      name: "plant_store_http_refusals_total",
      help: "What was refused by the rules of HTTP, mostly before it was a request.",
      type: "counter",
      samples: () =>
        refusalKinds.map((reason, index) => ({
          labels: { reason },
          value: sum(places.refusals + index),
        })),
    },
    {
      name: "plant_store_connections",
      help: "Open connections.",
      type: "gauge",
      samples: one(places.connections),
    },
    {
      name: "plant_store_connections_opened_total",
      help: "Connections that were opened.",
      type: "counter",
      samples: one(places.connectionsOpened),
    },
    {
      name: "plant_store_received_bytes_total",
      help: "Bytes that came over connections.",
      type: "counter",
      samples: one(places.receivedBytes),
    },
    {
      name: "plant_store_sent_bytes_total",
      help: "Bytes that were written to connections.",
      type: "counter",
      samples: one(places.sentBytes),
    },
    histogram("plant_store_commit_duration_seconds", {
      help: "From a batch to the answer that it is durable, or not.",
      samples: (name) => histogramSamples(name, places.commitSeconds, {}, sum),
    }),
    histogram("plant_store_commit_rows", {
      help: "Plants that shared a commit.",
      samples: (name) => histogramSamples(name, places.commitRows, {}, sum),
    }),
    {
      name: "plant_store_commits_failed_total",
      help: "Commits that failed, or of which that is not known.",
      type: "counter",
      samples: one(places.commitsFailed),
    },
    {
      name: "plant_store_queue_rows",
      help: "Plants that wait for a commit.",
      type: "gauge",
      samples: one(places.queueRows),
    },
    {
      name: "plant_store_queue_bytes",
      help: "What they may hold of the heap.",
      type: "gauge",
      samples: one(places.queueBytes),
    },
    histogram("plant_store_event_loop_delay_seconds", {
      help: "How late timers fire, by thread.",
      samples: (name) =>
        numbers.flatMap((own, index) =>
          histogramSamples(name, places.loopDelaySeconds, threadLabel(index), (at) => own[at] ?? 0),
        ),
    }),
    {
      name: "plant_store_event_loop_active_seconds_total",
      help: "Time that the event loop was at work, by thread.",
      type: "counter",
      samples: eachThread(places.loopActiveSeconds),
    },
    {
      name: "plant_store_event_loop_idle_seconds_total",
      help: "Time that the event loop waited for work, by thread.",
      type: "counter",
      samples: eachThread(places.loopIdleSeconds),
    },
    {
      name: "plant_store_gc_seconds_total",
      help: "Time in garbage collection, by thread.",
      type: "counter",
      samples: eachThread(places.gcSeconds),
    },
    {
      name: "plant_store_heap_used_bytes",
      help: "What objects hold of the heap, by thread.",
      type: "gauge",
      samples: eachThread(places.heapUsedBytes),
    },
  ];
}

/** As `--threads` counts: from 1. */
function threadLabel(index: number): Labels {
  return { thread: index === 0 ? "main" : String(index) };
}

/** All that there can be, so that none begins at 1. */
function requestSamples(sum: (at: number) => number): Sample[] {
  return methodNames.flatMap((method, methodIndex) =>
    protocolNames.flatMap((protocol, protocolIndex) =>
      codeNames.map((code, number) => ({
        labels: { method, protocol, code },
        value: sum(requestPlace(methodIndex, protocolIndex, number)),
      })),
    ),
  );
}

function histogram(
  name: string,
  { help, samples }: { help: string; samples: (name: string) => Sample[] },
): MetricFamily {
  return { name, help, type: "histogram", samples: () => samples(name) };
}

function histogramSamples(
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
