/** Where the server says what happened: one line an event. Never a token, never a body. */
export interface Log {
  info(message: string): void;
  warn(message: string, cause?: unknown): void;
  error(message: string, cause?: unknown): void;
}

/** Lines on standard error, each with its time; a cause follows whole, with its stack. */
export const stderrLog: Log = {
  info: (message) => writeLine("info", message),
  warn: (message, cause) => writeLine("warn", message, cause),
  error: (message, cause) => writeLine("error", message, cause),
};

function writeLine(level: string, message: string, cause?: unknown): void {
  const detail = cause instanceof Error ? `: ${cause.stack ?? cause.message}` : "";
  process.stderr.write(`${new Date().toISOString()} ${level} ${message}${detail}\n`);
}
