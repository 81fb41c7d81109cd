/** What the log says of an error, and no more: what hangs on one may be what a client sent. */
export interface DescribedError {
  readonly type: string;
  readonly message: string;
  /** Of drivers and of the system: `ECONNREFUSED`. */
  readonly code: string | undefined;
  /** With those of its causes. */
  readonly stack: string;
}

/** Of more causes than these, the rest tells nothing; and they might go round. */
const causesMax = 8;

export function describeError(error: Error): DescribedError {
  const { name, message } = error;
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  return { type: name, message, code, stack: stackOf(error) };
}

/** The stack of an error, and of what caused it. */
export function stackOf(error: Error): string {
  const stacks: string[] = [];
  let next: unknown = error;
  while (next instanceof Error && stacks.length < causesMax) {
    stacks.push(next.stack ?? next.message);
    next = next.cause;
  }
  return stacks.join("\ncaused by: ");
}
