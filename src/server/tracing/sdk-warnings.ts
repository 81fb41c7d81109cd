import { DiagLogLevel, diag } from "@opentelemetry/api";
import type { Log } from "connect-gateway/logging";

/** The SDK warns of invalid variables and of dropped spans, without a limit of its own. */
const linesPerMinuteMax = 10;
const lineCharactersMax = 300;

/** Sends the SDK's warnings to the log. */
export function logSdkWarnings(log: Log): void {
  let minute = 0;
  let lines = 0;

  function warn(...parts: readonly unknown[]): void {
    const now = Math.floor(performance.now() / 60_000);
    if (now !== minute) lines = 0;
    minute = now;
    if (++lines > linesPerMinuteMax) return;
    // Parts that are not text are a collector's answer, or an error that is reported elsewhere.
    const text = parts.filter((part) => typeof part === "string").join(": ");
    log.warn(`OpenTelemetry: ${text}`.slice(0, lineCharactersMax));
  }

  const logger = { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

function ignore(): void {}
