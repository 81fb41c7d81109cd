export type CopyErrorCode =
  /** An id of the source is another plant in the target. */
  | "conflict"
  /** The target holds a plant that the source does not have. */
  | "foreign_plant"
  /** The source holds what no store of ours takes. */
  | "invalid"
  /** The target did not confirm a plant. */
  | "unconfirmed"
  /** At the end, the target lacks a plant of the source. */
  | "missing";

/** A copy ended early. What was copied stays. The message is one line for an operator. */
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
