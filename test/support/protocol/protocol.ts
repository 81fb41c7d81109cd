import type { Code } from "@connectrpc/connect";
import { knownToken } from "../test-server.ts";

/** A plant to ask for; what is left out is not sent. */
export interface PlantInput {
  readonly id?: bigint;
  readonly name?: string;
  readonly tag?: string;
}

export interface Refusal {
  readonly code: Code;
  readonly message: string;
  /** The BadRequest among the details; undefined where there is none. */
  readonly violations: readonly Violation[] | undefined;
  /** What the RetryInfo among the details asks to wait; undefined where there is none. */
  readonly retryDelayMs: number | undefined;
  /** What came with the error: headers and trailers. */
  readonly metadata: Headers;
  /** The status of HTTP; undefined where the client does not show it. */
  readonly status: number | undefined;
}

export interface Violation {
  readonly field: string;
  readonly description: string;
}

/** What every protocol has in common, whoever speaks it. */
export type Outcome = { readonly ok: { readonly name: string; readonly tag?: string } } | Refusal;

export interface CallOptions {
  /** The Authorization header; null sends none. Default: the token that test servers know. */
  readonly authorization?: string | null;
  readonly timeoutMs?: number;
}

export interface PlantCaller extends Disposable {
  create(plant: PlantInput, options?: CallOptions): Promise<Outcome>;
}

/** A protocol, as one client speaks it. */
export interface Protocol {
  readonly name: string;
  open(url: string): PlantCaller;
}

export function authorizationOf({ authorization }: CallOptions): string | null {
  return authorization === undefined ? `Bearer ${knownToken}` : authorization;
}

/** The refusal, or the reason that the test fails. */
export function refusalOf(outcome: Outcome): Refusal {
  if ("ok" in outcome) throw new Error(`a plant was created: ${JSON.stringify(outcome.ok)}`);
  return outcome;
}
