/** Why a store could not be opened. */
export type StoreOpenErrorCode =
  /** The database or its driver is too old, does not work here, or cannot store every plant. */
  | "unsupported"
  /** The database cannot be reached, created, read or written. */
  | "inaccessible"
  /** Another process holds a lock on the database. */
  | "in_use"
  /** The database belongs to another application. It was not changed. */
  | "foreign"
  /** A newer release wrote the database. */
  | "newer_schema"
  /** The database belongs to the plant store, but is damaged. */
  | "damaged"
  /** The database cannot guarantee that its commits survive a crash. */
  | "not_durable";

/** The message is one line for an operator. */
class OneLineError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    // A path may contain any character, including a line break.
    super(message.replaceAll(/\p{Cc}/gu, "\ufffd"), options);
  }
}

/** A store could not be opened. The message says what is wrong, and what to do. */
export class StoreOpenError extends OneLineError {
  override readonly name = "StoreOpenError";
  readonly code: StoreOpenErrorCode;

  constructor(code: StoreOpenErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** An opened store could not be read. */
export class StoreReadError extends OneLineError {
  override readonly name = "StoreReadError";
}

/** A backup failed. Nothing is left of it. */
export class BackupError extends OneLineError {
  override readonly name = "BackupError";
}

/** A copy ended early. What was copied remains. */
export class CopyError extends OneLineError {
  override readonly name = "CopyError";
}
