/** A store was opened, and then could not be read. The message is one line for an operator. */
export class StoreReadError extends Error {
  override readonly name = "StoreReadError";

  constructor(message: string, options?: { cause?: unknown }) {
    // A path may hold anything, a line break too.
    super(message.replaceAll(/\p{Cc}/gu, "\ufffd"), options);
  }
}
