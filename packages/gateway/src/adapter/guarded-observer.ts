import { type ContextValues, createContextValues } from "@connectrpc/connect";
import { StreamOutcome } from "../rpc/stream-outcome.ts";
import type { Exchange } from "../http/exchange.ts";
import type { NodeHandler } from "../http/node-handler.ts";
import type { RequestExchange } from "../http/request-exchange.ts";
import {
  type CallEnding,
  type CallObservation,
  type CallObserver,
  protocolOf,
} from "./observer.ts";
import type { Route } from "./routing.ts";

export interface GuardedObserverOptions {
  readonly observer: CallObserver | undefined;
  /** What stands before the path of each route. */
  readonly requestPathPrefix: string;
  readonly onError: (error: unknown) => void;
}

/** Calls the observer, if there is one: what it throws goes to `onError`, and does nothing to the request. */
export class GuardedObserver {
  readonly #observer: CallObserver | undefined;
  readonly #requestPathPrefix: string;
  readonly #onError: (error: unknown) => void;

  constructor({ observer, requestPathPrefix, onError }: GuardedObserverOptions) {
    this.#observer = observer;
    this.#requestPathPrefix = requestPathPrefix;
    this.#onError = onError;
  }

  begin(
    exchange: Exchange,
    { method, pathTemplate: path, isRpc }: Route,
  ): CallObservation | undefined {
    if (this.#observer === undefined) return undefined;
    const { method: requestMethod, target, headers } = exchange;
    const protocol = protocolOf(headers, isRpc);
    const peerAddress = () => exchange.peerAddress;
    const pathTemplate = path && this.#requestPathPrefix + path;
    const request = { method, pathTemplate, protocol, requestMethod, target, headers };
    try {
      const observation = this.#observer.begin({ ...request, peerAddress });
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

  end(observation: CallObservation | undefined, { code, status }: CallEnding): void {
    try {
      observation?.end({ code, status });
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
    exchange.call = {
      abort: () => {
        const { status } = exchange;
        const end = { code: exchange.code, status, isWhole: response.writableEnded };
        this.end(observation, { code: outcome.code(end), status });
      },
    };
    return outcome;
  }
}
