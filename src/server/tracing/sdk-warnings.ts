import { DiagLogLevel, diag } from "@opentelemetry/api";
import type { Log } from "connect-gateway/logging";

/** What the SDK says of wrong variables, and of spans that had no room. It has no bound itself. */
const linesPerMinuteMax = 10;
const lineCharactersMax = 300;

/** Has the SDK warn in our log. */
export function logSdkWarnings(log: Log): void {
  let minute = 0;
  let lines = 0;

  function warn(...parts: readonly unknown[]): void {
    const now = Math.floor(performance.now() / 60_000);
    if (now !== minute) lines = 0;
    minute = now;
    if (++lines > linesPerMinuteMax) return;
    // What is no text is what a collector has answered, or an error that is told elsewhere.
    const text = parts.filter((part) => typeof part === "string").join(": ");
    log.warn(`OpenTelemetry: ${text}`.slice(0, lineCharactersMax));
  }

  const logger = { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

function ignore(): void {}
