import type { Code } from "@connectrpc/connect";
import { knownToken } from "../test-server.ts";

/** A plant to create. Omitted fields are not sent. */
export interface PlantInput {
  readonly id?: bigint;
  readonly name?: string;
  readonly tag?: string;
}

export interface Refusal {
  readonly code: Code;
  readonly message: string;
  /** The fields of the BadRequest in the details; undefined if there is none. */
  readonly violations: readonly string[] | undefined;
  /** The delay of the RetryInfo in the details; undefined if there is none. */
  readonly retryDelayMs: number | undefined;
  /** The HTTP status; undefined for all but REST. */
  readonly status?: number;
  /** The headers and trailers of the error. */
  readonly metadata: Headers;
}

/** The common result of all protocols and clients. */
export type Outcome = { readonly ok: { readonly name: string; readonly tag?: string } } | Refusal;

export interface CallOptions {
  /** The Authorization header; null sends none. Default: the token of test servers. */
  readonly authorization?: string | null | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface PlantCaller extends Disposable {
  create(plant: PlantInput, options?: CallOptions): Promise<Outcome>;
}

/** A protocol as spoken by one client. */
export interface Protocol {
  readonly name: string;
  open(url: string): PlantCaller;
}

export function authorizationOf({ authorization }: CallOptions): string | null {
  return authorization === undefined ? `Bearer ${knownToken}` : authorization;
}

/** The rejection. Fails the test if the call succeeded. */
export function refusalOf(outcome: Outcome): Refusal {
  if ("ok" in outcome) throw new Error(`a plant was created: ${JSON.stringify(outcome.ok)}`);
  return outcome;
}
