import { Code } from "@connectrpc/connect";
import {
  codeOf,
  messageOf,
  type Planned,
} from "../../../packages/gateway/test/support/model-upstream/answer.ts";
import type {
  Caller,
  Outcome,
} from "../../../packages/gateway/test/support/model-upstream/callers.ts";
import { slowMs } from "./plan.ts";

export interface Call extends Planned {
  readonly caller: Caller;
  readonly timeoutMs: number | undefined;
  readonly elapsedMs: number;
  /** Of those, how long the processes had to wait for a CPU. */
  readonly starvedMs: number;
  readonly outcome: Outcome;
  /** Whether a fault was under way. */
  readonly isDisturbed: boolean;
  /** Whether a model has taken it. */
  readonly isServed: boolean;
}

/** A silent server is given up after three times as long. */
export const quietMsMax = 300;

/** As a call may wait for a connection as well. */
const graceMs = 3000;

/**
 * A server of Node resets a stream over its limit by one of these, and counts streams for a moment after
 * they have ended. See OnBeginHeadersCallback in node_http2.cc.
 */
function isOverLimit({ message }: Outcome): boolean {
  return /ENHANCE_YOUR_CALM|INTERNAL_ERROR/.test(message);
}

/** What is wrong with how a call has ended; undefined if nothing is. */
export function judge(call: Call): string | undefined {
  const { id, plan, caller, timeoutMs, elapsedMs, starvedMs, outcome } = call;
  const { isDisturbed, isServed } = call;
  const say = (what: string) =>
    `${caller.name} ${id}: ${what}: ${outcome.code} ${outcome.message.slice(0, 100)}`;
  const promisedMs = Math.min(timeoutMs ?? Number.POSITIVE_INFINITY, slowMs + 4 * quietMsMax);
  if (elapsedMs > promisedMs + graceMs + starvedMs) return say(`took ${Math.round(elapsedMs)} ms`);
  if (outcome.ids.some((one) => one !== id)) return say(`has the answer of ${outcome.ids}`);
  if (outcome.code === Code.Unavailable && isDisturbed) return undefined;
  if (isDisturbed && !isServed && isOverLimit(outcome)) return undefined;
  const isTimeUp = timeoutMs !== undefined && elapsedMs >= timeoutMs - 20;
  if (outcome.code === Code.DeadlineExceeded && isTimeUp) return undefined;
  // Over REST, an answer that is too large is the server's error.
  const isServers = plan.kind === "large success" && caller.name === "REST";
  const code = isServers ? Code.Internal : codeOf(plan);
  if (outcome.code === code) {
    if (code === 0 && outcome.ids.length !== caller.answers) return say("is not whole");
    if (plan.kind === "error" && outcome.message !== messageOf(plan, id)) {
      return say(`has another message than ${messageOf(plan, id)}`);
    }
    return undefined;
  }
  return say(`is not ${code} as planned (${plan.kind})`);
}
