/**
 * Tokens must never be written. Everything that the tests' servers write to their logs and standard
 * streams is checked here, and a token in it fails the test. See token-leaks.setup.ts, which runs
 * for every test file.
 */
import { inspect } from "node:util";

/** The token that every test server accepts. */
export const knownToken = "a-token-for-tests-alone";

/**
 * A first start and `token create` show a new token once, on standard output, at the user's
 * request.
 */
export type Channel = "log" | "stdout" | "stderr";

const newToken = /\bplst_[\w-]{43}/;
const jwt = /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/;
const credentials = /\bBearer +(?!realm=|token\b|\$TOKEN|<)[\w.~+/-]{12,}/i;

const leaks: string[] = [];

/** The token in a text that must not contain any, or `undefined`. */
export function findToken(text: string, channel: Channel): string | undefined {
  if (text.includes(knownToken)) return knownToken;
  for (const pattern of channel === "stdout" ? [jwt] : [jwt, newToken, credentials]) {
    const [found] = pattern.exec(text) ?? [];
    if (found !== undefined) return found;
  }
  return undefined;
}

/** @param text Everything written to the channel so far: a token may arrive in pieces. */
export function watchForTokens(text: string, channel: Channel): void {
  const token = findToken(text, channel);
  if (token === undefined) return;
  const leak = `a token was written to ${channel}: ${token}`;
  if (!leaks.includes(leak)) leaks.push(leak);
}

/** The complete error with all its properties, as a log writes it. */
export function watchCauseForTokens(cause: unknown): void {
  if (cause === undefined) return;
  const stack = cause instanceof Error ? (cause.stack ?? "") : "";
  watchForTokens(`${stack}\n${inspect(cause, { depth: 6, maxStringLength: 10_000 })}`, "log");
}

/** The leaks since the last call. */
export function takeLeaks(): string[] {
  return leaks.splice(0);
}
