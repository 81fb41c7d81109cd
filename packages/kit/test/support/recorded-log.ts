import { watchCauseForTokens, watchForTokens } from "./token-leaks.ts";

export interface LogLine {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly cause: unknown;
}

/** A log that records lines instead of printing them. */
export function createRecordedLog() {
  const lines: LogLine[] = [];
  const record = (level: LogLine["level"]) => (message: string, cause?: unknown) => {
    lines.push({ level, message, cause });
    watchForTokens(message, "log");
    watchCauseForTokens(cause);
  };
  return { lines, info: record("info"), warn: record("warn"), error: record("error") };
}
