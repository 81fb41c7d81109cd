export type TokenFileErrorCode =
  /** A name outside `[A-Za-z0-9._-]{1,64}`. */
  | "invalid_name"
  /** A live token has this name. */
  | "name_in_use"
  /** No live token has this name. */
  | "unknown_name"
  /** The file has reached its maximum size or exceeds it. */
  | "full"
  /** A line cannot be parsed. */
  | "malformed"
  /** Not a regular file, or writable by others than its owner. */
  | "unsafe"
  /** Something else changed the file during the operation. Retry. */
  | "changed"
  /** An operating system error, given in the cause. */
  | "io";

/**
 * A token file could not be read or changed. The message is one line and quotes nothing from the
 * file.
 */
export class TokenFileError extends Error {
  override readonly name = "TokenFileError";
  readonly code: TokenFileErrorCode;

  constructor(code: TokenFileErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** Runs an operation on the file and converts its errors to {@link TokenFileError}. */
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
