/** The names of methods and of results in metrics and logs. */
import type { DescMethod } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";

/** @param code Undefined for success. One that google.rpc.Code does not have is unknown. */
export function codeNameOf(code: Code | undefined): string {
  if (code === undefined) return "OK";
  const known = code in Code ? code : Code.Unknown;
  return codeToString(known).toUpperCase().replace("CANCELED", "CANCELLED");
}

/** `bookshop.v1.BookService/GetBook`. */
export function methodNameOf({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`;
}
