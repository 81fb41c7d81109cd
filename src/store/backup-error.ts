/** A backup failed. Nothing is left of it. The message is one line for an operator. */
export class BackupError extends Error {
  override readonly name = "BackupError";

  constructor(message: string, options?: { cause?: unknown }) {
    // A path may contain any character, including a line break.
    super(message.replaceAll(/\p{Cc}/gu, "\ufffd"), options);
  }
}
