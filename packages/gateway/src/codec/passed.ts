/** Large messages that are passed on unchanged, in the bytes in which they came. */
import {
  type BinaryWriteOptions,
  type DescMessage,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type ContextKey, createContextKey } from "@connectrpc/connect";
import { smallBytes } from "./decode.ts";

/** For a call by our gRPC transport: whether nobody changes its answers. */
export const passesOn: ContextKey<boolean> = createContextKey(false, {
  description: "whether answers are passed on",
});

/** The implementations of services that pass requests on, in gateways where nobody changes them. */
export const passers: WeakSet<object> = new WeakSet();

const bytesOf = new WeakMap<object, Uint8Array>();

/**
 * Whether bytes are large, and at least half of their buffer: not a part of Node's pool or of what else
 * was read. V8 creates the buffer of small ones when it is first asked for.
 */
export function ownsBuffer(bytes: Uint8Array): boolean {
  const { byteLength } = bytes;
  return byteLength > smallBytes && bytes.buffer.byteLength <= 2 * byteLength;
}

/** Keeps the bytes of a message that nobody will change. */
export function keepBytes<T extends object>(message: T, bytes: Uint8Array): T {
  if (ownsBuffer(bytes)) bytesOf.set(message, bytes);
  return message;
}

/** As `toBinary`. Without options, those that were kept. */
export function toBytes<D extends DescMessage>(
  desc: D,
  message: MessageShape<D>,
  options?: Partial<BinaryWriteOptions>,
): Uint8Array {
  const kept = options === undefined ? bytesOf.get(message) : undefined;
  return kept ?? toBinary(desc, message, options);
}
