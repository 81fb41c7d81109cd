/** A backup was not made, and nothing is left of it. The message is one line for an operator. */
export class BackupError extends Error {
  override readonly name = "BackupError";

  constructor(message: string, options?: { cause?: unknown }) {
    // A path may hold anything, a line break too.
    super(message.replaceAll(/\p{Cc}/gu, "\ufffd"), options);
  }
}
