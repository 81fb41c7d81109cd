/** What is drawn for a run: faults, and what the upstream is to answer. */
import {
  type AnswerPlan,
  oddities,
} from "../../../packages/gateway/test/support/model-upstream/answer.ts";
import { connectionFaults } from "../../../packages/gateway/test/support/model-upstream/fault.ts";
import type { Random } from "../random.ts";

/** With those to its process and to the addresses of its name. */
export const faults = [...connectionFaults, "stop", "kill", "leave", "join"] as const;
export type Fault = (typeof faults)[number];

/** As long may the upstream take, in ms. */
export const slowMs = 600;

/** By the table of PROTOCOL-HTTP2; refused streams are sent again. */
const resets = [
  [2, 13],
  [8, 1],
  [11, 8],
] as const;

export function planAnswer(random: Random): AnswerPlan {
  const afterMs = random.chance(0.1) ? random.int(1, slowMs) : 0;
  const share = random.next();
  if (share < 0.6) return { kind: "success", afterMs };
  if (share < 0.88) {
    return { kind: "error", code: random.int(1, 16), oddity: random.pick(oddities), afterMs };
  }
  if (share < 0.94) {
    const [reset, code] = random.pick(resets);
    return { kind: "reset", reset, code };
  }
  return { kind: share < 0.97 ? "no status" : "large success" };
}
