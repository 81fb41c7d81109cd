/**
 * The deliberate differences from connect-node. Each entry converts the outcome of the stock
 * adapter exactly to ours, and has cases that it changes. An entry that no longer differs fails.
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
