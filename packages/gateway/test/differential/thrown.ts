/** The values that a script throws. */

import { create } from "@bufbuild/protobuf";
import { AnySchema, anyPack } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import type { Field } from "./case.ts";
import type { Detail, ErrorSpec } from "./script.ts";

export function createThrown(spec: ErrorSpec): unknown {
  switch (spec.kind) {
    case "connect": {
      const { message, code, metadata = [], details = [], wire = false, cause } = spec;
      const error = new ConnectError(
        message,
        code,
        metadata as [string, string][],
        details.filter((detail) => detail !== "wire").map(createDetail),
        cause === true ? new Error("the cause") : undefined,
      );
      error.isWireError = wire;
      if (details.includes("wire")) {
        error.details.push({ type: "test.v1.Unknown", value: new Uint8Array([1, 2, 3]) });
      }
      return error;
    }
    case "alike": {
      const { code, message } = spec;
      const own = { name: "ConnectError", code, rawMessage: message, details: [] };
      const rest = { metadata: new Headers([["x-alike", "1"]]), cause: undefined };
      return Object.assign(new Error(message), own, rest);
    }
    case "error":
      return new Error(spec.message, spec.cause ? { cause: new Error("the cause") } : {});
    case "abort":
      return new DOMException("This was aborted", "AbortError");
    case "timeout":
      return new DOMException("This took too long", "TimeoutError");
    case "undefined":
      return undefined;
    case "null":
      return null;
    case "number":
      return 5;
    case "string":
      return "text";
    case "object":
      return { code: 5, message: "no error" };
  }
}

function createDetail(detail: Exclude<Detail, "wire"> | Detail) {
  switch (detail) {
    case "any": {
      const inner = anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason: "WHY" }));
      return { desc: AnySchema, value: { typeUrl: inner.typeUrl, value: inner.value } };
    }
    case "broken":
      return { desc: RetryInfoSchema, value: { retryDelay: { seconds: "x" as never } } };
    default:
      return { desc: RetryInfoSchema, value: { retryDelay: { seconds: 2n, nanos: 5 } } };
  }
}

export function setFields(headers: Headers, fields: readonly Field[] = []): void {
  for (const [name, value] of fields) headers.set(name, value);
}
