import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";

/** A field of a request message that does not hold what it must. */
export class FieldViolation extends Error {
  override readonly name = "FieldViolation";
  /** The path to the field, `shelf.books[2].title`; `""` for the message itself. */
  readonly field: string;
  /** What must be true of it, to be read behind its name: `must be a string`. */
  readonly description: string;

  constructor(field: string, description: string, options?: { cause: unknown }) {
    const subject = field === "" ? "the request" : leafOf(field);
    super(quotable(`${subject} ${description}`), options);
    this.field = quotable(field);
    this.description = quotable(description);
  }

  /** The same violation, seen from the message that holds it under `name`. */
  within(name: string): FieldViolation {
    const dot = this.field === "" || this.field.startsWith("[") ? "" : ".";
    return new FieldViolation(`${name}${dot}${this.field}`, this.description, {
      cause: this.cause,
    });
  }
}

/**
 * The error of a request whose fields do not hold what they must:
 * INVALID_ARGUMENT with `google.rpc.BadRequest`, the same on every protocol.
 */
export function badRequest(violations: readonly FieldViolation[]): ConnectError {
  const told = violations.slice(0, violationsMax);
  const more = violations.length - told.length;
  return new ConnectError(
    [...told.map(({ message }) => message), ...(more > 0 ? [`and ${more} more`] : [])].join("; "),
    Code.InvalidArgument,
    undefined,
    [badRequestDetail(violations)],
    violations[0]?.cause,
  );
}

export function badRequestDetail(violations: readonly FieldViolation[]) {
  const fieldViolations = violations
    .slice(0, violationsMax)
    .map(({ field, description }) => ({ field, description }));
  return { desc: BadRequestSchema, value: { fieldViolations } };
}

/** A request of 1 MiB may have thousands: details are a trailer in gRPC, and have to fit into it. */
export const violationsMax = 100;

/** Past that, nobody reads on. And messages go into headers, which have their limits. */
const quotedMax = 200;

/** The expression for the end of a path takes quadratic time. A key may be as long as the body. */
const searchedMax = 1000;

/** Text that quotes a request: valid Unicode and short, whatever was sent. */
function quotable(text: string): string {
  const isShort = text.length <= quotedMax;
  return (isShort ? text : `${text.slice(0, quotedMax)}…`).toWellFormed();
}

/** What people call the field: its own name, not where it stands. An extension's has dots. */
function leafOf(field: string): string {
  return /(?:\[[^[\]]*\]|[^.[\]]+(?:\[[^[\]]*\])*)$/.exec(field.slice(-searchedMax))?.[0] ?? field;
}
