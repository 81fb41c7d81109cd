export type StoreOpenErrorCode =
  /** The database or its driver is too old, does not work here, or cannot store every plant. */
  | "unsupported"
  /** The database cannot be reached, created, read or written. */
  | "inaccessible"
  | "in_use"
  | "foreign"
  | "newer_schema"
  /** The database belongs to the plant store, but is damaged. */
  | "damaged"
  /** The database cannot guarantee that its commits survive a crash. */
  | "not_durable";

/** What an operator can fix, in one line. What a failed copy has copied remains. */
export class StoreError extends Error {
  override readonly name: string = "StoreError";

  constructor(message: string, options?: { cause?: unknown }) {
    // A path may contain any character, including a line break.
    super(message.replaceAll(/\p{Cc}/gu, "\ufffd"), options);
  }
}

export class StoreOpenError extends StoreError {
  override readonly name = "StoreOpenError";
  readonly code: StoreOpenErrorCode;

  constructor(code: StoreOpenErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
