export type TokenFileErrorCode =
  /** A name outside `[A-Za-z0-9._-]{1,64}`. */
  | "invalid_name"
  /** A live token has this name. */
  | "name_in_use"
  /** No live token has this name. */
  | "unknown_name"
  /** The file holds as much as it may, or more. */
  | "full"
  /** A line cannot be understood. */
  | "malformed"
  /** Not a regular file, or one that others than its owner may write. */
  | "unsafe"
  /** Something else changed the file while it was in use: try again. */
  | "changed"
  /** The operating system refused; the cause tells. */
  | "io";

/** A token file could not be read or changed. The message is one line and quotes nothing of it. */
export class TokenFileError extends Error {
  override readonly name = "TokenFileError";
  readonly code: TokenFileErrorCode;

  constructor(code: TokenFileErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** Runs what touches the file, and makes one kind of error of all that it throws. */
export async function asTokenFileError<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TokenFileError) throw error;
    const reason = error instanceof Error ? error.message : "unknown error";
    throw new TokenFileError("io", `${file}: ${reason}`, error);
  }
}

export function changedMeanwhile(file: string): TokenFileError {
  return new TokenFileError("changed", `${file}: was changed by something else; try again`);
}

/** @param line From 1. */
export function malformedLine(file: string, line: number): TokenFileError {
  return new TokenFileError(
    "malformed",
    `${file}: line ${line} cannot be understood; ` +
      'a line is "create NAME SHA256 TIME", "revoke NAME TIME" or "# comment"',
  );
}
