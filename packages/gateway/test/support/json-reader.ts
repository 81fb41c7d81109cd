import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { messageFromJson, parseJson } from "../../src/codec/json-messages.ts";
import type { JsonOptions } from "../../src/codec/json-scalar.ts";

/** Reads a message from JSON text, or throws the error that the caller of a method gets. */
export function readJson<D extends DescMessage>(
  desc: D,
  text: string | Uint8Array,
  options: JsonOptions = {},
): MessageShape<D> {
  return messageFromJson(desc, parseJson(Buffer.from(text as Uint8Array)), options);
}
