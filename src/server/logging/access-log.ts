import type { ContextValues } from "@connectrpc/connect";
import {
  type CallEnding,
  type CallObservation,
  type CallObserver,
  type ObservedRequest,
  type ProtocolName,
  parseRequestTarget,
} from "connect-gateway";
import { principalId, principalKey } from "../../auth/principal.ts";
import { codeNameOf, methodNameOf } from "../call-names.ts";
import { requestIdHeader, requestIdOf } from "./request-id.ts";
import { traceIdOf } from "./trace-parent.ts";

/** One request: nothing of its body, of its query or of its token. */
export interface AccessEntry {
  /** `plantstore.v1.PlantService/CreatePlant`; undefined where none was called. */
  readonly method: string | undefined;
  readonly protocol: ProtocolName;
  /** Of google.rpc: what the client has got. */
  readonly code: string;
  /** Until the answer was handed to the system. */
  readonly durationMs: number;
  /** Who calls; undefined where no token was accepted. */
  readonly principal: string | undefined;
  readonly requestId: string;
  /** Of a client that traces, or of our own span. */
  readonly traceId: string | undefined;
  readonly peer: string | undefined;
  /** As HTTP has them. */
  readonly requestMethod: string;
  readonly path: string;
}

/** What strangers, and issuers of JWTs, may fill a line with, so that it stays whole. */
const pathCharactersMax = 200;
const principalCharactersMax = 128;
const requestMethodCharactersMax = 32;

/**
 * Tells of every request once, when it ends; gives each an id, which its client gets, too.
 *
 * @param findTraceId The trace that a request belongs to. Default: the one that its client names.
 */
export function createAccessLog(
  write: (entry: AccessEntry) => void,
  findTraceId: FindTraceId = ({ headers }) => traceIdOf(headers["traceparent"]),
): CallObserver {
  return { begin: (request) => new LoggedCall(request, write, findTraceId) };
}

type FindTraceId = (request: ObservedRequest) => string | undefined;

class LoggedCall implements CallObservation {
  readonly responseHeader: Readonly<Record<string, string>>;
  readonly #request: ObservedRequest;
  readonly #write: (entry: AccessEntry) => void;
  readonly #findTraceId: FindTraceId;
  readonly #requestId: string;
  readonly #peer: string | undefined;
  readonly #startedAt = performance.now();
  #values: ContextValues | undefined;

  constructor(
    request: ObservedRequest,
    write: (entry: AccessEntry) => void,
    findTraceId: FindTraceId,
  ) {
    this.#request = request;
    this.#write = write;
    this.#findTraceId = findTraceId;
    this.#requestId = requestIdOf(request.headers);
    this.#peer = request.peerAddress(); // which nobody knows once the client has gone
    this.responseHeader = { [requestIdHeader]: this.#requestId };
  }

  calling(values: ContextValues): void {
    this.#values = values;
  }

  end({ code }: CallEnding): void {
    const { method, protocol, requestMethod, target } = this.#request;
    const principal = this.#values?.get(principalKey);
    this.#write({
      method: method && methodNameOf(method),
      protocol,
      code: codeNameOf(code),
      durationMs: Math.round((performance.now() - this.#startedAt) * 1000) / 1000,
      principal: principal && principalId(principal).slice(0, principalCharactersMax),
      requestId: this.#requestId,
      traceId: this.#findTraceId(this.#request),
      peer: this.#peer,
      requestMethod: requestMethod.slice(0, requestMethodCharactersMax),
      path: parseRequestTarget(target).path.slice(0, pathCharactersMax),
    });
  }
}
