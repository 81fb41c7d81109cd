/** What the model upstream is to answer to a call, which the call itself says. */
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
  ...["none", "percent", "wrong details", "other code in details", "early status"],
  ...["trailers only", "large trailer"],
] as const;
export type Oddity = (typeof oddities)[number];

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

/** What stands in the messages of a call: each is answered with the id. */
export interface Planned {
  readonly id: string;
  readonly plan: AnswerPlan;
}
