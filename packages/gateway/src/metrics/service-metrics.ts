import type { Socket } from "node:net";
import { performance } from "node:perf_hooks";
import type { DescMethod } from "@bufbuild/protobuf";
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Metric,
  Registry,
} from "@prometheus-io/client";
import type { CallObserver } from "../adapter/observer.ts";
import type { BodyBudget } from "../http/body-budget.ts";
import { protocolNames } from "../rpc/call.ts";
import { codeNameOf } from "../rpc/call-names.ts";
import type { TrafficObserver } from "../server/port.ts";
import { refusalKinds } from "../server/refusal.ts";

export interface ServiceMetricsOptions {
  /** The prefix of the names of metrics: `connect_gateway`. */
  readonly prefix: string;
  readonly version: string;
  /** The value of the label `method`; undefined for `other`. */
  readonly nameOf: (method: DescMethod) => string | undefined;
  /** How many values there may be, as calls come; the others are `other`. Default: no limit. */
  readonly namesMax?: number;
}

export class ServiceMetrics {
  readonly calls: CallObserver;
  readonly traffic: TrafficObserver;
  /** Register other metrics here. */
  readonly registry = new Registry();
  /** What `/readyz` says. Set it when the service has started. */
  isReady: () => boolean = () => false;
  readonly close: () => void;
  readonly #named: Naming;

  constructor(options: ServiceMetricsOptions) {
    const { registry } = this;
    const registers = [registry];
    const named: Naming = (name, help) => ({ name: `${options.prefix}_${name}`, help, registers });
    this.#named = named;
    this.calls = observeCalls(named, options);
    this.traffic = observeTraffic(named);
    this.close = measureLoop(named);
    const ready = "Whether the service would take a call, as /readyz says: 1, or 0.";
    watch(Gauge, named("ready", ready), () => (this.isReady() ? 1 : 0));
    const labelNames = ["version", "node"];
    const build = new Gauge({ ...named("build_info", "What runs; always 1."), labelNames });
    build.set({ version: options.version, node: process.versions.node }, 1);
    for (const metric of processRegistry().getMetricsAsArray()) {
      // Its types say less than it returns.
      if (!costly.test(metric.name)) registry.registerMetric(metric as unknown as Metric);
    }
  }

  /** Shows the bytes that bodies hold. */
  watchBodies(budget: BodyBudget): void {
    const bytes = "Bytes of bodies in memory: received, and unpacked.";
    watch(Gauge, this.#named("body_bytes", bytes), () => budget.heldBytes);
    const refusals = "Bodies for which there was no room.";
    watch(Counter, this.#named("body_refusals_total", refusals), () => budget.refusals);
  }
}

/** What all metrics have, with the prefix before the name. */
type Naming = (
  name: string,
  help: string,
) => { readonly name: string; readonly help: string; readonly registers: Registry[] };

/** A metric whose value is read at each scrape. */
function watch(
  Kind: typeof Counter | typeof Gauge,
  named: ReturnType<Naming>,
  read: () => number,
  labels = {},
): void {
  new Kind({
    ...named,
    labelNames: Object.keys(labels),
    collect() {
      this.reset();
      this.inc(labels, read());
    },
  });
}

let ofProcess: Registry | undefined;

/** Metrics of the process. Created once, because their collectors cannot be stopped. */
function processRegistry(): Registry {
  if (ofProcess !== undefined) return ofProcess;
  ofProcess = new Registry();
  // Its timer for the loop would be busy for seconds or minutes when the clock is set forward by years.
  collectDefaultMetrics({ register: ofProcess, eventLoopUtilizationTimeout: 2 ** 31 - 1 });
  return ofProcess;
}

/**
 * Excluded: they visit each open connection, or repeat our metrics of the event loop. The lag begins
 * anew with each scrape: a second scraper would spoil the first one's.
 */
const costly = /^nodejs_(?:active_|eventloop_lag|eventloop_utilization_(?:summary|histogram))/;

/** From an answer without disk access to far beyond the timeouts of clients. */
const requestSeconds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

const other = "other";

function observeCalls(named: Naming, options: ServiceMetricsOptions): CallObserver {
  const { nameOf, namesMax = Number.POSITIVE_INFINITY } = options;
  const labels = new Set<string>();
  let inFlight = 0;
  const total = "Requests that have ended, by method, protocol and google.rpc code.";
  const requests = new Counter({
    ...named("requests_total", total),
    labelNames: ["method", "protocol", "code"] as const,
  });
  const duration =
    "From the head of a request to its answer, without streams: they end when clients like.";
  const seconds = new Histogram({
    ...named("request_duration_seconds", duration),
    labelNames: ["protocol"] as const,
    buckets: requestSeconds,
  });
  const begun = "Requests that have begun and not ended.";
  watch(Gauge, named("requests_in_flight", begun), () => inFlight);
  for (const protocol of protocolNames) seconds.zero({ protocol });

  function labelOf(method: DescMethod | undefined): string {
    const label = method && nameOf(method);
    if (label === undefined) return other;
    if (labels.size < namesMax) labels.add(label);
    return labels.has(label) ? label : other;
  }

  return {
    begin(request) {
      inFlight++;
      const { protocol } = request;
      const startedAt = performance.now();
      return {
        end: ({ code }) => {
          inFlight--;
          const { method } = request;
          requests.inc({ method: labelOf(method), protocol, code: codeNameOf(code) });
          // A stream lasts as long as its client likes: that is no latency.
          if (method !== undefined && method.methodKind !== "unary") return;
          seconds.observe({ protocol }, (performance.now() - startedAt) / 1000);
        },
      };
    },
  };
}

/** Counts connections, their bytes, and requests that are rejected before they become calls. */
function observeTraffic(named: Naming): TrafficObserver {
  const open = new Set<Socket>();
  const closed = { bytesRead: 0, bytesWritten: 0 };
  const refused = "What was refused by the rules of HTTP, mostly before it was a request.";
  const refusals = new Counter({
    ...named("http_refusals_total", refused),
    labelNames: ["reason"] as const,
  });
  for (const reason of refusalKinds) refusals.inc({ reason }, 0);
  watch(Gauge, named("connections", "Open connections."), () => open.size);
  const opened = new Counter(named("connections_opened_total", "Connections that were opened."));
  // Added up when they are asked for: for each byte it would cost too much.
  const total = (way: "bytesRead" | "bytesWritten") => () =>
    open.values().reduce((sum, socket) => sum + socket[way], closed[way]);
  const received = named("received_bytes_total", "Bytes that came over connections.");
  watch(Counter, received, total("bytesRead"));
  const sent = named("sent_bytes_total", "Bytes that were written to connections.");
  watch(Counter, sent, total("bytesWritten"));
  const expires =
    "When the TLS certificate in use expires, in seconds since the epoch. Absent without TLS.";
  const certificate = new Gauge(named("tls_certificate_expiration_timestamp_seconds", expires));
  certificate.remove();
  return {
    opened(socket) {
      open.add(socket);
      opened.inc();
      socket.once("close", () => {
        open.delete(socket);
        closed.bytesRead += socket.bytesRead;
        closed.bytesWritten += socket.bytesWritten;
      });
    },
    refused: ({ kind }) => refusals.inc({ reason: kind }),
    certificateUsed: (expiresAt) => certificate.set(expiresAt.getTime() / 1000),
  };
}

const loopIntervalMs = 20;
const loopSeconds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1];

/** The thread that serves; the label is for those that a server may add. */
const thread = { thread: "main" };

/** Measures what the event loop does with its time. @returns stops it. */
function measureLoop(named: Naming): () => void {
  const delay = new Histogram({
    ...named("event_loop_delay_seconds", "How late timers fire, by thread."),
    labelNames: ["thread"] as const,
    buckets: loopSeconds,
  });
  delay.zero(thread);
  for (const state of ["active", "idle"] as const) {
    const does = state === "active" ? "was at work" : "waited for work";
    const help = `Time that the event loop ${does}, by thread.`;
    const read = () => performance.eventLoopUtilization()[state] / 1000;
    watch(Counter, named(`event_loop_${state}_seconds_total`, help), read, thread);
  }
  let due = performance.now() + loopIntervalMs;
  // How much later than it should a timer fires: so long would a request have waited.
  const timer = setInterval(() => {
    const now = performance.now();
    delay.observe(thread, Math.max(0, now - due) / 1000);
    due = now + loopIntervalMs;
  }, loopIntervalMs).unref();
  return () => clearInterval(timer);
}
