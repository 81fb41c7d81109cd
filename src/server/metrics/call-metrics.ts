import type { DescMethod } from "@bufbuild/protobuf";
import type { CallEnding, CallObservation, CallObserver, ObservedRequest } from "connect-gateway";
import { codeNames } from "../call-names.ts";
import { add, observe, places, protocolNames } from "./layout.ts";

/** Counts and times calls. Nothing of it is made anew for a call but what remembers its start. */
export class CallMetrics implements CallObserver {
  readonly #numbers: Float64Array;
  readonly #methods: readonly DescMethod[];

  /** @param methods Those that are counted by their names, in the order of the layout. */
  constructor(numbers: Float64Array, methods: readonly DescMethod[]) {
    this.#numbers = numbers;
    this.#methods = methods;
  }

  begin({ method, protocol }: ObservedRequest): CallObservation {
    add(this.#numbers, places.requestsInFlight, 1);
    const known = method === undefined ? -1 : this.#methods.indexOf(method);
    const methodIndex = known === -1 ? this.#methods.length : known;
    // A stream lasts as long as its client likes: that is no latency.
    const isTimed = method === undefined || method.methodKind === "unary";
    return new ObservedCall(this.#numbers, methodIndex, protocolNames.indexOf(protocol), isTimed);
  }
}

class ObservedCall implements CallObservation {
  readonly #numbers: Float64Array;
  readonly #methodIndex: number;
  readonly #protocolIndex: number;
  readonly #startedAt: number | undefined;

  constructor(numbers: Float64Array, methodIndex: number, protocolIndex: number, isTimed: boolean) {
    this.#startedAt = isTimed ? performance.now() : undefined;
    this.#numbers = numbers;
    this.#methodIndex = methodIndex;
    this.#protocolIndex = protocolIndex;
  }

  end({ code }: CallEnding): void {
    const numbers = this.#numbers;
    add(numbers, places.requestsInFlight, -1);
    add(numbers, requestPlace(this.#methodIndex, this.#protocolIndex, code ?? 0), 1);
    const histogram = places.requestSeconds[this.#protocolIndex];
    if (histogram === undefined || this.#startedAt === undefined) return;
    observe(numbers, histogram, (performance.now() - this.#startedAt) / 1000);
  }
}

/** @param code A number that google.rpc.Code does not have is unknown. */
export function requestPlace(methodIndex: number, protocolIndex: number, code: number): number {
  const known = codeNames[code] === undefined ? codeNames.indexOf("UNKNOWN") : code;
  const row = methodIndex * protocolNames.length + protocolIndex;
  return places.requests + row * codeNames.length + known;
}
