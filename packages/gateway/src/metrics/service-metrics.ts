import type { Socket } from "node:net";
import { PerformanceObserver, performance } from "node:perf_hooks";
import type { DescMethod } from "@bufbuild/protobuf";
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Metric,
  Registry,
} from "@prometheus-io/client";
import type {
  CallEnding,
  CallObservation,
  CallObserver,
  ObservedRequest,
  ProtocolName,
} from "../adapter/observer.ts";
import type { BodyBudget } from "../http/body-budget.ts";
import { codeNameOf, codeNames } from "../rpc/call-names.ts";
import type { TrafficObserver } from "../server/port.ts";
import type { OnRefusal, RefusalKind } from "../server/refusal.ts";

export interface ServiceMetricsOptions extends MethodLabels {
  /** What the names of the metrics begin with: `connect_gateway`. */
  readonly prefix: string;
  /** Of what runs. */
  readonly version: string;
}

/** The metrics of one service. */
export class ServiceMetrics {
  readonly calls: CallMetrics;
  readonly traffic: Traffic;
  /** Whoever measures more registers it here. */
  readonly registry = new Registry();
  readonly close: () => void;
  readonly #watches: ReturnType<typeof createWatches>;
  #isReady: () => boolean = () => false;

  constructor({ prefix, version, ...labels }: ServiceMetricsOptions) {
    const { registry } = this;
    this.calls = new CallMetrics(prefix, registry, labels);
    this.traffic = new Traffic(prefix, registry);
    this.close = measureRuntime(prefix, registry);
    this.#watches = createWatches(prefix, registry);
    const ready = "Whether the service would take a call, as /readyz says: 1, or 0.";
    this.#watches.gauge("ready", ready, () => (this.isReady() ? 1 : 0));
    new Gauge({
      name: `${prefix}_build_info`,
      help: "What runs; always 1.",
      labelNames: ["version", "node"],
      registers: [registry],
    }).set({ version, node: process.versions.node }, 1);
    for (const metric of processRegistry().getMetricsAsArray()) {
      registry.registerMetric(metric as unknown as Metric); // its types say less than it returns
    }
  }

  /** The service has started: until then it is not ready. @param isReady What `/readyz` says. */
  watchReadiness(isReady: () => boolean): void {
    this.#isReady = isReady;
  }

  isReady(): boolean {
    return this.#isReady();
  }

  /** Shows what bodies hold. */
  watchBodies(budget: BodyBudget): void {
    const { gauge, counter } = this.#watches;
    gauge(
      "body_bytes",
      "Bytes of bodies in memory: received, and unpacked.",
      () => budget.heldBytes,
    );
    const help = "Bodies for which there was no room.";
    counter("body_refusals_total", help, () => budget.refusals);
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  render(): Promise<string> {
    return this.registry.metrics();
  }
}

let ofProcess: Registry | undefined;

/** Metrics of the process: once, because what measures them goes on until its end. */
function processRegistry(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
    for (const name of costly) ofProcess.removeSingleMetric(name);
  }
  return ofProcess;
}

/** Those that look at each open connection, or say again what we say of the event loop. */
const costly = [
  ...["nodejs_active_handles", "nodejs_active_handles_total"],
  ...["nodejs_active_requests", "nodejs_active_requests_total"],
  ...["nodejs_active_resources", "nodejs_active_resources_total"],
  ...["nodejs_eventloop_utilization_summary", "nodejs_eventloop_utilization_histogram"],
  // They begin anew with each scrape: a second scraper would spoil the first one's.
  ...["", "_min", "_max", "_mean", "_stddev", "_p50", "_p90", "_p99"].map(
    (part) => `nodejs_eventloop_lag${part}_seconds`,
  ),
];

interface MethodLabels {
  /** What the label `method` says of a method. */
  readonly nameOf: (method: DescMethod) => string;
  /** The names that there are from the start. */
  readonly names?: readonly string[];
  /** How many names there may be, as calls come; the others are one series. Default: those from the start. */
  readonly namesMax?: number;
}

const protocols: readonly ProtocolName[] = ["rest", "connect", "grpc", "grpc-web", "mcp"];

/** From an answer without the disk to what a client has long given up. */
const requestSeconds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** What has no name of its own. */
const other = "other";

/** Counts and times calls. */
class CallMetrics implements CallObserver {
  readonly #options: MethodLabels;
  readonly #names = new Set<string>();
  readonly #known = new WeakMap<DescMethod, string>();
  readonly #requests: Counter<"method" | "protocol" | "code">;
  readonly #seconds: Histogram<"protocol">;
  #inFlight = 0;

  constructor(prefix: string, registry: Registry, options: MethodLabels) {
    const registers = [registry];
    this.#options = options;
    this.#requests = new Counter({
      name: `${prefix}_requests_total`,
      help: "Requests that have ended, by method, protocol and google.rpc code.",
      labelNames: ["method", "protocol", "code"],
      registers,
    });
    this.#seconds = new Histogram({
      name: `${prefix}_request_duration_seconds`,
      help: "From the head of a request to its answer, without streams: they end when clients like.",
      labelNames: ["protocol"],
      buckets: requestSeconds,
      registers,
    });
    const { gauge } = createWatches(prefix, registry);
    gauge("requests_in_flight", "Requests that have begun and not ended.", () => this.#inFlight);
    for (const protocol of protocols) this.#seconds.zero({ protocol });
    for (const name of options.names ?? []) this.#add(name);
    this.#beginAtZero(other);
  }

  begin(request: ObservedRequest): CallObservation {
    this.#inFlight++;
    const { protocol } = request;
    const startedAt = performance.now();
    return {
      end: ({ code }: CallEnding) => {
        this.#inFlight--;
        const { method } = request;
        this.#requests.inc({ method: this.#labelOf(method), protocol, code: codeNameOf(code) });
        // A stream lasts as long as its client likes: that is no latency.
        if (method !== undefined && method.methodKind !== "unary") return;
        this.#seconds.observe({ protocol }, (performance.now() - startedAt) / 1000);
      },
    };
  }

  #labelOf(method: DescMethod | undefined): string {
    if (method === undefined) return other;
    let label = this.#known.get(method);
    if (label === undefined) {
      const { nameOf, names = [], namesMax = names.length } = this.#options;
      label = nameOf(method);
      if (!this.#names.has(label)) {
        if (this.#names.size < namesMax) this.#add(label);
        else label = other;
      }
      this.#known.set(method, label);
    }
    return label;
  }

  #add(name: string): void {
    this.#names.add(name);
    this.#beginAtZero(name);
  }

  /** All that there can be of a method, so that none begins at 1. */
  #beginAtZero(method: string): void {
    for (const protocol of protocols) {
      for (const code of codeNames) this.#requests.inc({ method, protocol, code }, 0);
    }
  }
}

const refusalKinds: readonly RefusalKind[] = [
  "handshake",
  "malformed",
  "tunnel",
  "late",
  "expectation",
  "oversized",
];

/** Counts connections, their bytes, and what of HTTP is refused before it is a call; notes the certificate. */
class Traffic implements TrafficObserver {
  readonly #open = new Set<Socket>();
  /** Of connections that are closed. */
  readonly #closed = { bytesRead: 0, bytesWritten: 0 };
  readonly #opened: Counter;
  readonly #refusals: Counter<"reason">;
  readonly #certificate: Gauge;

  constructor(prefix: string, registry: Registry) {
    const registers = [registry];
    this.#refusals = new Counter({
      name: `${prefix}_http_refusals_total`,
      help: "What was refused by the rules of HTTP, mostly before it was a request.",
      labelNames: ["reason"],
      registers,
    });
    for (const reason of refusalKinds) this.#refusals.inc({ reason }, 0);
    const open = this.#open;
    const { gauge, counter } = createWatches(prefix, registry);
    gauge("connections", "Open connections.", () => open.size);
    this.#opened = new Counter({
      name: `${prefix}_connections_opened_total`,
      help: "Connections that were opened.",
      registers,
    });
    // Added up when they are asked for: for each byte it would cost too much.
    const total = (way: "bytesRead" | "bytesWritten") => () =>
      open.values().reduce((sum, socket) => sum + socket[way], this.#closed[way]);
    counter("received_bytes_total", "Bytes that came over connections.", total("bytesRead"));
    counter("sent_bytes_total", "Bytes that were written to connections.", total("bytesWritten"));
    this.#certificate = new Gauge({
      name: `${prefix}_tls_certificate_expiration_timestamp_seconds`,
      help: "When the TLS certificate in use expires, in seconds since the epoch. Absent without TLS.",
      registers,
    });
    this.#certificate.remove();
  }

  opened(socket: Socket): void {
    this.#open.add(socket);
    this.#opened.inc();
    socket.once("close", () => {
      this.#open.delete(socket);
      this.#closed.bytesRead += socket.bytesRead;
      this.#closed.bytesWritten += socket.bytesWritten;
    });
  }

  readonly refused: OnRefusal = ({ kind }) => {
    this.#refusals.inc({ reason: kind });
  };

  certificateUsed(expiresAt: Date): void {
    this.#certificate.set(expiresAt.getTime() / 1000);
  }
}

/** How often it is looked how late the event loop is. */
const loopIntervalMs = 20;
const loopSeconds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1];

/** The thread that serves; the label is for those that a server may add. */
const thread = { thread: "main" };

/** @returns stops measuring. */
function measureRuntime(prefix: string, registry: Registry): () => void {
  const shared = { labelNames: ["thread"] as const, registers: [registry] };
  const delay = new Histogram({
    ...shared,
    name: `${prefix}_event_loop_delay_seconds`,
    help: "How late timers fire, by thread.",
    buckets: loopSeconds,
  });
  delay.zero(thread);
  for (const state of ["active", "idle"] as const) {
    new Counter({
      ...shared,
      name: `${prefix}_event_loop_${state}_seconds_total`,
      help: `Time that the event loop ${state === "active" ? "was at work" : "waited for work"}, by thread.`,
      collect() {
        this.reset();
        this.inc(thread, performance.eventLoopUtilization()[state] / 1000);
      },
    });
  }
  const gc = new Counter({
    ...shared,
    name: `${prefix}_gc_seconds_total`,
    help: "Time in garbage collection, by thread.",
  });
  gc.inc(thread, 0);
  new Gauge({
    ...shared,
    name: `${prefix}_heap_used_bytes`,
    help: "What objects hold of the heap, by thread.",
    collect() {
      this.set(thread, process.memoryUsage().heapUsed);
    },
  });
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) gc.inc(thread, duration / 1000);
  });
  observer.observe({ entryTypes: ["gc"] });
  const timer = watchLoopDelay((seconds) => delay.observe(thread, seconds));
  return () => {
    observer.disconnect();
    clearInterval(timer);
  };
}

/** How much later than it should a timer fires: so long would a request have waited. */
function watchLoopDelay(told: (seconds: number) => void): NodeJS.Timeout {
  let due = performance.now() + loopIntervalMs;
  return setInterval(() => {
    const now = performance.now();
    told(Math.max(0, now - due) / 1000);
    due = now + loopIntervalMs;
  }, loopIntervalMs).unref();
}

/** Adds a metric whose value is read at each scrape. */
type Watch = (name: string, help: string, read: () => number) => void;

/** @param prefix Of the names. */
function createWatches(
  prefix: string,
  registry: Registry,
): { readonly gauge: Watch; readonly counter: Watch } {
  const registers = [registry];
  return {
    gauge(name, help, read) {
      const collect = function (this: Gauge) {
        this.set(read());
      };
      new Gauge({ name: `${prefix}_${name}`, help, registers, collect });
    },
    counter(name, help, read) {
      const collect = function (this: Counter) {
        this.reset();
        this.inc(read());
      };
      new Counter({ name: `${prefix}_${name}`, help, registers, collect });
    },
  };
}
