import type {
  CallEnding,
  CallObservation,
  CallObserver,
  ObservedRequest,
} from "../adapter/observer.ts";
import { add, type MetricsLayout, observe, protocolNames } from "./layout.ts";

/** Counts and times calls. Nothing of it is made anew for a call but what remembers its start. */
export class CallMetrics implements CallObserver {
  readonly #numbers: Float64Array;
  readonly #layout: MetricsLayout;

  constructor(numbers: Float64Array, layout: MetricsLayout) {
    this.#numbers = numbers;
    this.#layout = layout;
  }

  begin({ method, protocol }: ObservedRequest): CallObservation {
    add(this.#numbers, this.#layout.requestsInFlight, 1);
    // A stream lasts as long as its client likes: that is no latency.
    const isTimed = method === undefined || method.methodKind === "unary";
    const series = {
      row: this.#layout.rowOf(method),
      protocolIndex: protocolNames.indexOf(protocol),
    };
    return new ObservedCall(this.#numbers, this.#layout, series, isTimed);
  }
}

interface Series {
  readonly row: number;
  readonly protocolIndex: number;
}

class ObservedCall implements CallObservation {
  readonly #numbers: Float64Array;
  readonly #layout: MetricsLayout;
  readonly #series: Series;
  readonly #startedAt: number | undefined;

  constructor(numbers: Float64Array, layout: MetricsLayout, series: Series, isTimed: boolean) {
    this.#startedAt = isTimed ? performance.now() : undefined;
    this.#numbers = numbers;
    this.#layout = layout;
    this.#series = series;
  }

  end({ code }: CallEnding): void {
    const [numbers, layout] = [this.#numbers, this.#layout];
    const { row, protocolIndex } = this.#series;
    add(numbers, layout.requestsInFlight, -1);
    add(numbers, layout.requestPlace(row, protocolIndex, code ?? 0), 1);
    const histogram = layout.requestSeconds[protocolIndex];
    if (histogram === undefined || this.#startedAt === undefined) return;
    observe(numbers, histogram, (performance.now() - this.#startedAt) / 1000);
  }
}
