import type { DescMethod } from "@bufbuild/protobuf";
import { Counter, Histogram, type Registry } from "@prometheus-io/client";
import type {
  CallEnding,
  CallObservation,
  CallObserver,
  ObservedRequest,
  ProtocolName,
} from "../adapter/observer.ts";
import { codeNameOf, codeNames } from "../rpc/call-names.ts";
import { createWatches } from "./watched.ts";

export interface MethodLabels {
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
export class CallMetrics implements CallObserver {
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
