import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";

/** An invalid field of a request message. */
export class FieldViolation extends Error {
  override readonly name = "FieldViolation";
  /** The path to the field, `shelf.books[2].title`; `""` for the message itself. */
  readonly field: string;
  /** The rule, as a predicate after the name of the field: `must be a string`. */
  readonly description: string;

  constructor(field: string, description: string, options?: { cause: unknown }) {
    // The end of a path says where. A key of a map may be as long as the body.
    const path = quotable(field, 80, 80);
    const rule = quotable(description, 200, 0);
    super(`${path === "" ? "the request" : (leaf.exec(path)?.[0] ?? path)} ${rule}`, options);
    this.field = path;
    this.description = rule;
  }

  /** The same violation, seen from the message that holds it under `name`. */
  within(name: string): FieldViolation {
    const { field, description, cause } = this;
    const dot = field === "" || field.startsWith("[") ? "" : ".";
    return new FieldViolation(`${name}${dot}${field}`, description, { cause });
  }
}

/** INVALID_ARGUMENT with `google.rpc.BadRequest`, the same on every protocol. */
export function badRequest(violations: readonly FieldViolation[]): ConnectError {
  const messages = violations.slice(0, violationsMax).map(({ message }) => message);
  const more = violations.length - messages.length;
  if (more > 0) messages.push(`and ${more} more`);
  const text = messages.join("; ");
  const details = [badRequestDetail(violations)];
  return new ConnectError(text, Code.InvalidArgument, undefined, details, violations[0]?.cause);
}

export function badRequestDetail(violations: readonly FieldViolation[]) {
  const told = violations.slice(0, violationsMax);
  const fieldViolations = told.map(({ field, description }) => ({ field, description }));
  return { desc: BadRequestSchema, value: { fieldViolations } };
}

/** A request of 1 MiB may have thousands: details are a trailer in gRPC, and have to fit into it. */
export const violationsMax = 100;

/** Text that quotes a request: valid Unicode without controls, and short, whatever was sent. */
function quotable(text: string, begin: number, end: number): string {
  const isShort = text.length <= begin + end;
  const short = isShort ? text : `${text.slice(0, begin)}…${text.slice(text.length - end)}`;
  return short.toWellFormed().replace(/\p{Cc}/gu, " ");
}

/** The name of a field without its path. Names of extensions contain dots. */
const leaf = /(?:\[[^[\]]*\]|[^.[\]]+(?:\[[^[\]]*\])*)$/;
