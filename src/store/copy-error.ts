export type CopyErrorCode =
  /** An id of the source is a different plant in the target. */
  | "conflict"
  /** The target has a plant that the source lacks. */
  | "foreign_plant"
  /** The source has a plant that no store accepts. */
  | "invalid"
  /** The target did not confirm a plant. */
  | "unconfirmed"
  /** After the copy, the target lacks a plant of the source. */
  | "missing";

/** A copy ended early. What was copied remains. The message is one line for an operator. */
export class CopyError extends Error {
  override readonly name = "CopyError";
  readonly code: CopyErrorCode;

  constructor(code: CopyErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

export function conflict(id: bigint, options?: { cause?: unknown }): CopyError {
  return new CopyError(
    "conflict",
    `plant ${id} is another plant in the target, with another name or tag; nothing was overwritten`,
    options,
  );
}
