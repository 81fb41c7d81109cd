/** Where the server says what happened: one line an event. Never a token, never a body. */
export interface Log {
  info(message: string): void;
  warn(message: string, cause?: unknown): void;
  error(message: string, cause?: unknown): void;
}
