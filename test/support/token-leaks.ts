/**
 * No token is ever written down. Whatever the servers of the tests write, to
 * their logs and their standard streams, comes by here, and a token in it fails
 * the test: see token-leaks.setup.ts, which every file of tests has.
 */
import { inspect } from "node:util";

/** The token that every test server knows. */
export const knownToken = "a-token-for-tests-alone";

/** A start, and `token create`, show a new token once: on standard output, where a user asked for it. */
export type Channel = "log" | "stdout" | "stderr";

const newToken = /\bplst_[\w-]{43}/;
const jwt = /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/;
const credentials = /\bBearer +(?!realm=|token\b|\$TOKEN|<)[\w.~+/-]{12,}/i;

const leaks: string[] = [];

/** The token in a text that must have none, or `undefined`. */
export function findToken(text: string, channel: Channel): string | undefined {
  if (text.includes(knownToken)) return knownToken;
  const forbidden = channel === "stdout" ? [jwt] : [jwt, newToken, credentials];
  for (const pattern of forbidden) {
    const [found] = pattern.exec(text) ?? [];
    if (found !== undefined) return found;
  }
  return undefined;
}

/** @param text All that the channel has said so far: a token may come in pieces. */
export function watchForTokens(text: string, channel: Channel): void {
  const token = findToken(text, channel);
  if (token === undefined) return;
  const leak = `a token was written to ${channel}: ${token}`;
  if (!leaks.includes(leak)) leaks.push(leak);
}

/** An error in full, as a log writes it and with all that hangs on it. */
export function watchCauseForTokens(cause: unknown): void {
  if (cause === undefined) return;
  const stack = cause instanceof Error ? (cause.stack ?? "") : "";
  watchForTokens(`${stack}\n${inspect(cause, { depth: 6, maxStringLength: 10_000 })}`, "log");
}

/** What leaked since the last time. */
export function takeLeaks(): string[] {
  return leaks.splice(0);
}
