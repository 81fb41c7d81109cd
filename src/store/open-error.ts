/** Why a store was not opened. */
export type StoreOpenErrorCode =
  /** The store URL has no meaning here. */
  | "invalid_url"
  /** The database or its driver is too old, does not work here, or cannot hold every plant. */
  | "unsupported"
  /** The database cannot be reached, made, read or written. */
  | "inaccessible"
  /** Somebody else holds the database locked. */
  | "in_use"
  /** The database belongs to something else; it was left as it was. */
  | "foreign"
  /** A newer release wrote the database. */
  | "newer_schema"
  /** The database is ours and broken. */
  | "damaged"
  /** The database cannot promise that what it commits survives a crash. */
  | "not_durable";

/**
 * A store was not opened. The message is one line for an operator: what is
 * wrong, and what to do.
 */
export class StoreOpenError extends Error {
  override readonly name = "StoreOpenError";
  readonly code: StoreOpenErrorCode;

  constructor(code: StoreOpenErrorCode, message: string, options?: { cause?: unknown }) {
    // A path may hold anything, a line break too.
    super(message.replaceAll(/\p{Cc}/gu, "\ufffd"), options);
    this.code = code;
  }
}
