/** What the model upstream answers to a call: the same in its process and in the campaign's. */
import { createRandom } from "../random.ts";

export type AnswerPlan =
  | { readonly kind: "success"; readonly afterMs: number }
  /** An error, whose trailers have what clients must put up with. */
  | {
      readonly kind: "error";
      readonly code: number;
      readonly oddity: Oddity;
      readonly afterMs: number;
    }
  | { readonly kind: "reset"; readonly reset: number; readonly code: number }
  | { readonly kind: "no status" }
  | { readonly kind: "large success" };

export const oddities = [
  "none",
  "percent",
  "wrong details",
  "other code in details",
  "early status",
  "trailers only",
  "large trailer",
] as const;
export type Oddity = (typeof oddities)[number];

/** As long may the upstream take, in ms. */
export const slowMs = 600;

/** By the table of PROTOCOL-HTTP2; refused streams are sent again. */
const resets = [
  [2, 13],
  [8, 1],
  [11, 8],
] as const;

export function planAnswer(seed: number, id: string): AnswerPlan {
  const random = createRandom(seed, `answer ${id}`);
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
  return share < 0.97 ? { kind: "no status" } : { kind: "large success" };
}

/** The code that a caller gets: 0 for success. */
export function codeOf(plan: AnswerPlan): number {
  switch (plan.kind) {
    case "success":
      return 0;
    case "error":
    case "reset":
      return plan.code;
    case "no status":
      return 13;
    case "large success":
      return 8;
  }
}

/** The message of a planned error. */
export function messageOf(plan: AnswerPlan & { kind: "error" }, id: string): string {
  return plan.oddity === "percent" ? `50% of ${id}` : `no ${id}`;
}
