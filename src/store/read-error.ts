/** An opened store could not be read. The message is one line for an operator. */
export class StoreReadError extends Error {
  override readonly name = "StoreReadError";

  constructor(message: string, options?: { cause?: unknown }) {
    // A path may contain any character, including a line break.
    super(message.replaceAll(/\p{Cc}/gu, "\ufffd"), options);
  }
}
