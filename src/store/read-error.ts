/** A store was opened, and then could not be read. The message is one line for an operator. */
export class StoreReadError extends Error {
  override readonly name = "StoreReadError";
}
