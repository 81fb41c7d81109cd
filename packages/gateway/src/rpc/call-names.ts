/** The names of methods and of results in metrics and logs. */
import type { DescMethod } from "@bufbuild/protobuf";
import type { Code } from "@connectrpc/connect";

/** By their numbers in google.rpc.Code. */
const codeNames = (
  "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS " +
  "PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED " +
  "INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED"
).split(" ");

/** @param code Undefined for success. One that google.rpc.Code does not have is unknown. */
export function codeNameOf(code: Code | undefined): string {
  return codeNames[code ?? 0] ?? "UNKNOWN";
}

/** `bookshop.v1.BookService/GetBook`. */
export function methodNameOf({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`;
}
