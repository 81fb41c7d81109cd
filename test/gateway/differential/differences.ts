/** In what ours differs from connect-node, on purpose. Each difference is exact, and can go stale. */
import { codeToHttpStatus } from "@connectrpc/connect/protocol-connect";
import type { Case } from "./case.ts";
import type { Outcome } from "./outcome.ts";

export interface Difference {
  readonly name: string;
  /** What the stock adapter does, what ours does, and why. */
  readonly why: string;
  /** Whether ours has it already: then it must differ; else it must not. */
  readonly isInEffect: boolean;
  /** The requests that it is about. */
  applies(given: Case): boolean;
  /** The outcome that ours has, given that of the stock adapter. */
  expected(stock: Outcome, given: Case): Outcome;
  /** Cases that it changes. */
  readonly examples: readonly Case[];
}
export const differences: readonly Difference[] = [
{
name: "405 says what is allowed", why: "", isInEffect: true,
applies: () => true,
expected: (stock, {request}) => stock.status === 405 ? {...stock, headers: {allow: [request.path.includes("Echo") ? "POST, GET": "POST"], ...stock.headers}} : stock,
examples: []
}
];
