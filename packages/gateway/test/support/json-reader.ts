import { type DescMessage, fromJsonString, type MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { getJsonOptions } from "@connectrpc/connect/protocol";
import { messageFromJson, parseJson } from "../../src/codec/json-messages.ts";
import type { JsonOptions } from "../../src/codec/json-scalar.ts";
import { exactJsonDecoder } from "./exact-json-decoder.ts";

/** Reads a message from JSON text, or throws the error that the caller of a method gets. */
export type JsonReader = <D extends DescMessage>(
  desc: D,
  text: string | Uint8Array,
  options?: JsonOptions,
) => MessageShape<D>;

/** As the gateway reads it, on every protocol. */
export const readRest: JsonReader = (desc, text, options = {}) =>
  messageFromJson(desc, parseJson(bytesOf(text)), options);

/** As protobuf-es reads what it writes of the same message. */
export const readRpc: JsonReader = (desc, text, options = {}) => {
  const readOptions = getJsonOptions({ ignoreUnknownFields: false, ...options }) as JsonOptions;
  const decoder = exactJsonDecoder(desc, readOptions);
  try {
    return fromJsonString(desc, decoder.decode(bytesOf(text)), readOptions);
  } catch (error) {
    throw ConnectError.from(error, Code.InvalidArgument);
  }
};

/** Both readers, for tables that apply to each. */
export const jsonReaders: readonly [name: string, read: JsonReader][] = [
  ["the gateway", readRest],
  ["protobuf-es", readRpc],
];

const encoder = new TextEncoder();

function bytesOf(text: string | Uint8Array): Uint8Array {
  return typeof text === "string" ? encoder.encode(text) : text;
}
