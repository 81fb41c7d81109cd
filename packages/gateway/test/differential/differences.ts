/**
 * In what ours differs from connect-node, on purpose. Each entry turns the
 * outcome of the stock adapter into ours exactly, and has cases that it
 * changes: one that no longer differs fails.
 */
import { answers } from "./differences/answers.ts";
import type { Difference } from "./differences/difference.ts";
import { messages } from "./differences/messages.ts";
import { routing } from "./differences/routing.ts";
import { signals } from "./differences/signals.ts";
import { text } from "./differences/text.ts";

export const differences: readonly Difference[] = [
  ...routing,
  ...messages,
  ...signals,
  ...answers,
  ...text,
];
