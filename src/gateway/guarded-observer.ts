import { type Code, type ContextValues, createContextValues } from "@connectrpc/connect";
import type { Exchange } from "./exchange.ts";
import type { NodeHandler } from "./node-handler.ts";
import { type CallObservation, type CallObserver, protocolOf } from "./observer.ts";
import type { RequestExchange } from "./request-exchange.ts";
import type { Route } from "./routing.ts";
import { StreamOutcome } from "./stream-outcome.ts";

/** Calls the observer, if there is one: what it throws goes to `onError`, and does nothing to the request. */
export class GuardedObserver {
  readonly #observer: CallObserver | undefined;
  readonly #onError: (error: unknown) => void;

  constructor(observer: CallObserver | undefined, onError: (error: unknown) => void) {
    this.#observer = observer;
    this.#onError = onError;
  }

  begin(exchange: Exchange, { method, isRpc }: Route): CallObservation | undefined {
    if (this.#observer === undefined) return undefined;
    const { method: requestMethod, target, headers } = exchange;
    const protocol = protocolOf(headers, isRpc);
    const peerAddress = () => exchange.peerAddress;
    try {
      const head = { method, protocol, requestMethod, target, headers, peerAddress };
      const observation = this.#observer.begin(head);
      const added = observation?.responseHeader;
      if (added !== undefined) exchange.addHeader(added);
      return observation;
    } catch (error) {
      this.#onError(error);
      return undefined;
    }
  }

  /** @returns the values that the call begins with: those given, or some made for the observer. */
  calling(
    observation: CallObservation | undefined,
    given: ContextValues | undefined,
  ): ContextValues | undefined {
    if (observation?.calling === undefined) return given;
    const values = given ?? createContextValues();
    try {
      observation.calling(values);
    } catch (error) {
      this.#onError(error);
    }
    return values;
  }

  end(observation: CallObservation | undefined, code: Code | undefined): void {
    try {
      observation?.end({ code });
    } catch (error) {
      this.#onError(error);
    }
  }

  /**
   * Ends the observation of a stream with its exchange: its handler does not tell.
   *
   * @returns what has to hear how the call went until then.
   */
  endWithExchange(
    observation: CallObservation,
    exchange: RequestExchange,
    response: Parameters<NodeHandler>[1],
  ): StreamOutcome {
    const outcome = new StreamOutcome();
    exchange.onceClosed(() => {
      const status = response.headersSent ? response.statusCode : undefined;
      const end = { code: exchange.code, status, isWhole: response.writableEnded };
      this.end(observation, outcome.code(end));
    });
    return outcome;
  }
}
