/** Calls through the gateway, what the upstream is to answer, and whether it was that. */
import { setTimeout as delay } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import {
  type AnswerPlan,
  codeOf,
  messageOf,
  oddities,
  type Planned,
} from "../../../packages/gateway/test/support/model-upstream/answer.ts";
import type {
  Caller,
  Outcome,
} from "../../../packages/gateway/test/support/model-upstream/callers.ts";
import { starvedMs } from "../history/starvation.ts";
import type { Random } from "../random.ts";

/** A silent server is given up after three times as long. */
export const quietMsMax = 300;
/** As long may the upstream take, in ms. */
const slowMs = 600;
/** As a call may wait for a connection as well. */
const graceMs = 3000;
/** Far more than any call may take. */
const callMsMax = 20_000;

type Call = Awaited<ReturnType<typeof callAll>>[number];

function planAnswer(random: Random): AnswerPlan {
  const afterMs = random.chance(0.1) ? random.int(1, slowMs) : 0;
  const share = random.next();
  if (share < 0.6) return { kind: "success", afterMs };
  if (share < 0.88) {
    return { kind: "error", code: random.int(1, 16), oddity: random.pick(oddities), afterMs };
  }
  if (share < 0.94) {
    // By the table of PROTOCOL-HTTP2; refused streams are sent again.
    const codes = { 2: 13, 8: 1, 11: 8 } as const;
    const reset = random.pick([2, 8, 11] as const);
    return { kind: "reset", reset, code: codes[reset] };
  }
  return { kind: share < 0.97 ? "no status" : "large success" };
}

/** @param name Makes the ids of the calls unique. */
export async function callAll(
  callers: readonly Caller[],
  { random, name, count }: { random: Random; name: string; count: number },
) {
  return await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const planned: Planned = { id: `${name}-${index}`, plan: planAnswer(random) };
      const caller = random.pick(callers);
      const startMs = random.int(0, 150);
      const patienceMs = random.chance(0.3) ? random.int(50, 3000) : undefined;
      const timeoutMs = caller.name === "REST" ? undefined : patienceMs;
      await delay(startMs);
      const begin = performance.now();
      const outcome = await Promise.race([caller.call(planned, timeoutMs), givenUp()]);
      const end = performance.now();
      const times = { elapsedMs: end - begin, starvedMs: starvedMs(begin, end) };
      return { ...planned, caller, timeoutMs, outcome, ...times };
    }),
  );
}

/** So that a call without an end is found, and does not keep the campaign from its own. */
async function givenUp(): Promise<Outcome> {
  await delay(callMsMax, undefined, { ref: false });
  return { code: -1, message: "it has no end", ids: [] };
}

/**
 * A server of Node resets a stream over its limit by one of these, and counts streams for a moment after
 * they have ended. See OnBeginHeadersCallback in node_http2.cc.
 */
const overLimit = /ENHANCE_YOUR_CALM|INTERNAL_ERROR/;

/**
 * What is wrong with how a call has ended; undefined if nothing is.
 *
 * @param isDisturbed Whether a fault was under way.
 * @param isServed Whether a model has taken it.
 */
export function judge(call: Call, isDisturbed: boolean, isServed: boolean): string | undefined {
  const { id, plan, caller, timeoutMs, elapsedMs, outcome } = call;
  const { code, message, ids } = outcome;
  const say = (what: string) => `${caller.name} ${id}: ${what}: ${code} ${message.slice(0, 100)}`;
  const promisedMs = Math.min(timeoutMs ?? Number.POSITIVE_INFINITY, slowMs + 4 * quietMsMax);
  if (elapsedMs > promisedMs + graceMs + call.starvedMs) {
    return say(`took ${Math.round(elapsedMs)} ms`);
  }
  if (ids.some((one) => one !== id)) return say(`has the answer of ${ids}`);
  if (isDisturbed && code === Code.Unavailable) return undefined;
  if (isDisturbed && !isServed && overLimit.test(message)) return undefined;
  const isTimeUp = timeoutMs !== undefined && elapsedMs >= timeoutMs - 20;
  if (isTimeUp && code === Code.DeadlineExceeded) return undefined;
  // Over REST, an answer that is too large is the server's error.
  const isServers = plan.kind === "large success" && caller.name === "REST";
  const planned = isServers ? Code.Internal : codeOf(plan);
  if (code !== planned) return say(`is not ${planned} as planned (${plan.kind})`);
  if (code === 0 && ids.length !== caller.answers) return say("is not whole");
  if (plan.kind === "error" && message !== messageOf(plan, id)) {
    return say(`has another message than ${messageOf(plan, id)}`);
  }
  return undefined;
}
