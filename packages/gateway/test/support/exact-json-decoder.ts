import type { DescMessage, JsonValue } from "@bufbuild/protobuf";
import { parseJson } from "../../src/codec/json-messages.ts";
import { normaliserOf } from "../../src/codec/json-normaliser.ts";
import type { JsonOptions } from "../../src/codec/json-scalar.ts";
import { rawJson } from "../../src/codec/json-value.ts";
import { badRequest, FieldViolation } from "../../src/codec/violation.ts";

/**
 * A `TextDecoder` for connect-es, whose text contains the same message in a form that protobuf-es
 * reads exactly. So JSON can be compared with a reader that is not ours.
 */
export function exactJsonDecoder(
  desc: DescMessage,
  options: JsonOptions,
): { decode(bytes: Uint8Array): string } {
  return {
    decode(bytes) {
      try {
        return stringify(normaliserOf(desc)(parseJson(bytes), options));
      } catch (error) {
        throw error instanceof FieldViolation ? badRequest([error]) : error;
      }
    },
  };
}

/** Like JSON.stringify, but keeps -0. */
function stringify(json: JsonValue): string {
  return JSON.stringify(json, (_key, value) => (Object.is(value, -0) ? rawJson("-0") : value));
}
