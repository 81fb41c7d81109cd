import { type DescMessage, type JsonValue, toJson } from "@bufbuild/protobuf";
import { messageFromJson, parseJson } from "../../src/codec/json-messages.ts";
import type { JsonOptions } from "../../src/codec/json-scalar.ts";
import { rawJson } from "../../src/codec/json-text.ts";

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
      const message = messageFromJson(desc, parseJson(bytes), options);
      const { registry } = options;
      return stringify(toJson(desc, message, registry === undefined ? {} : { registry }));
    },
  };
}

/** Like JSON.stringify, but keeps -0. */
function stringify(json: JsonValue): string {
  return JSON.stringify(json, (_key, value) => (Object.is(value, -0) ? rawJson("-0") : value));
}
