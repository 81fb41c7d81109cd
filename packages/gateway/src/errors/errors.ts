/** Converts errors that end a call. */
import { create, type DescMessage } from "@bufbuild/protobuf";
import { protoCamelCase } from "@bufbuild/protobuf/reflect";
import type {
  FieldPathElement,
  Violations,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { badRequestDetail, FieldViolation, violationsMax } from "../codec/violation.ts";

export interface ErrorListener {
  /**
   * Called once for a call that fails with anything but a ConnectError, thrown by the implementation,
   * an interceptor or the gate. Clients get "internal error". Also called for an answer that could
   * not be created or was cut. Not called for what is thrown after the client has left or the
   * deadline has passed. Default: `console.error`.
   */
  readonly onError?: (error: unknown) => void;
}

/** The default, as in connectNodeAdapter. */
function logError(error: unknown): void {
  // biome-ignore lint/suspicious/noConsole: the default of a library without a logger
  console.error(error);
}

/** Told what a listener throws, or rejects with: neither may end the request, or the process. */
export function guarded<T>(onError: (error: unknown) => void, tell: () => T): T | undefined {
  try {
    const said = tell();
    if (said instanceof Promise) said.catch(onError);
    return said;
  } catch (error) {
    onError(error);
    return undefined;
  }
}

/** An `onError` that never throws. */
export function createErrorListener({ onError = logError }: ErrorListener) {
  return (error: unknown) => void guarded(logError, () => onError(error));
}

/** The error for the client. Errors that are not meant for clients become "internal error". */
export function connectErrorFrom(reason: unknown): ConnectError {
  if (!(reason instanceof ConnectError)) {
    return new ConnectError("internal error", Code.Internal, undefined, undefined, reason);
  }
  const error = withBadRequest(reason);
  // A lone surrogate has no form in UTF-8. To TypeScript any number is a code, and 0 says success.
  if (error.rawMessage.isWellFormed() && error.code in Code) return error;
  return withMessage(error, error.rawMessage.toWellFormed());
}

function withMessage(error: ConnectError, message: string, details = error.details): ConnectError {
  const { metadata, cause, isWireError } = error;
  const code = error.code in Code ? error.code : Code.Unknown;
  const changed = new ConnectError(message, code, metadata, undefined, cause);
  return Object.assign(changed, { details, isWireError });
}

/** The most bytes of a message, percent-encoded. Some clients accept 8 KiB of trailers. */
const encodedBytesMax = 4096;

/** Three bytes of UTF-8, each of them percent-encoded. */
const bytesPerCodeUnitMax = 9;

/** The same error, with its message truncated if it is too long for trailers. */
export function withTrailerMessage(error: ConnectError): ConnectError {
  const { rawMessage } = error;
  if (rawMessage.length * bytesPerCodeUnitMax <= encodedBytesMax) return error;
  let bytes = 0;
  let end = 0;
  for (const character of rawMessage) {
    bytes += encodeMessage(character).length;
    if (bytes > encodedBytesMax) return withMessage(error, `${rawMessage.slice(0, end)}…`);
    end += character.length;
  }
  return error;
}

/** As `grpc-message`. Clients on grpc-js read `%2C` as it is. HTTP drops spaces at both ends. */
export function encodeMessage(message: string): string {
  return message.replaceAll(/^ | $|[^ -$&-~]+/g, encodeURIComponent);
}

/** Adds `google.rpc.BadRequest` to `buf.validate.Violations`, which an interceptor has found. */
function withBadRequest(error: ConnectError): ConnectError {
  if (error.code !== Code.InvalidArgument) return error;
  const found = error.details.find((detail) => typeNameOf(detail) === "buf.validate.Violations");
  // Violations from another service arrive as bytes and are about its own request.
  if (found === undefined || !("desc" in found)) return error;
  if (error.details.some((detail) => typeNameOf(detail) === BadRequestSchema.typeName))
    return error;
  const { violations } = create<DescMessage>(found.desc, found.value) as unknown as Violations;
  const own = { desc: found.desc, value: { violations: violations.slice(0, violationsMax) } };
  const others = error.details.map((detail) => (detail === found ? own : detail));
  const same = own.value.violations.map(
    ({ field, message }) => new FieldViolation(pathOf(field?.elements ?? []), message),
  );
  return withMessage(error, error.rawMessage, [...others, badRequestDetail(same)]);
}

function typeNameOf(detail: ConnectError["details"][number]): string {
  return "desc" in detail ? detail.desc.typeName : detail.type;
}

/** The path by JSON names: `newBooks[0].title`, with extensions in brackets. */
function pathOf(elements: readonly FieldPathElement[]): string {
  return elements.reduce((path, { fieldName, subscript: { case: kind, value } }) => {
    const isExtension = fieldName.startsWith("[");
    const name = isExtension ? fieldName : protoCamelCase(fieldName);
    const key = kind && (kind === "index" ? `[${value}]` : `["${value}"]`);
    return `${path}${path === "" || isExtension ? "" : "."}${name}${key ?? ""}`;
  }, "");
}
