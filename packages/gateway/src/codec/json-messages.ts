/**
 * Exact ProtoJSON: what protobuf-es reads from JSON, without its rounding. Every number is first
 * converted, field by field, to a form that protobuf-es reads exactly. Plain messages are created
 * directly from that, all others by protobuf-es.
 */
import { type DescMessage, fromJson, type MessageShape } from "@bufbuild/protobuf";
import { normaliserOf } from "./json-normaliser.ts";
import type { JsonOptions } from "./json-scalar.ts";
import { JsonTextError, parseJsonText } from "./json-text.ts";
import type { ExactJson } from "./json-value.ts";
import { readPlainJson } from "./plain-reader.ts";
import { badRequest, FieldViolation } from "./violation.ts";

/**
 * Reads a message from JSON.
 *
 * 64-bit integers are exact: a number whose decimal value is an integer
 * (`12`, `12.0`, `1.2e1`) or a string `-?(0|[1-9][0-9]*)`.
 *
 * @throws {ConnectError} INVALID_ARGUMENT with a `google.rpc.BadRequest`.
 */
export function messageFromJson<D extends DescMessage>(
  desc: D,
  json: ExactJson,
  options: JsonOptions,
): MessageShape<D> {
  return rejectViolations(() => {
    const value = normaliserOf(desc)(json, options);
    try {
      return fromJson(desc, value, options);
    } catch (cause) {
      throw violationFrom(cause);
    }
  });
}

/** Like {@link messageFromJson}, from the text of a body. */
export function messageFromJsonText<D extends DescMessage>(
  desc: D,
  bytes: Uint8Array,
  options: JsonOptions,
  valuesMax?: number,
): MessageShape<D> {
  const plain = readPlainJson(desc, bytes, options, valuesMax) as MessageShape<D> | undefined;
  return plain ?? messageFromJson(desc, parseJson(bytes, valuesMax), options);
}

/**
 * Parses the text of a body.
 *
 * @param valuesMax The maximum number of values. Default: no limit.
 * @throws {ConnectError} INVALID_ARGUMENT.
 */
export function parseJson(bytes: Uint8Array, valuesMax?: number): ExactJson {
  return rejectViolations(() => parseJsonText(bytes, valuesMax));
}

function rejectViolations<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof FieldViolation) throw badRequest([error]);
    if (error instanceof JsonTextError) {
      throw badRequest([new FieldViolation("", error.message, { cause: error })]);
    }
    throw error;
  }
}

/** protobuf-es reports the field, if there is one, in the cause. */
function violationFrom(error: unknown): FieldViolation {
  const message = error instanceof Error ? error.message : String(error);
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error && "field" in cause && typeof cause.field === "function") {
    return new FieldViolation(cause.field().name, cause.message, { cause: error });
  }
  return new FieldViolation("", `cannot be read: ${message}`, { cause: error });
}
