/** Messages that are passed on unread, in the bytes in which they came. */
import {
  type BinaryWriteOptions,
  type DescMessage,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type ContextKey, createContextKey } from "@connectrpc/connect";
import { smallBytes } from "./decode.ts";

/** For a call by our gRPC transport: whether its answers are for a caller who takes bytes. */
export const passesOn: ContextKey<boolean> = createContextKey(false, {
  description: "whether answers are passed on",
});

/** The implementations of services that pass requests on to our gRPC transport. */
export const passers: WeakSet<object> = new WeakSet();

/** Whether bytes are large, and at least half of their buffer. V8 creates that of small ones on demand. */
export function ownsBuffer(bytes: Uint8Array): boolean {
  const { byteLength } = bytes;
  return byteLength > smallBytes && bytes.buffer.byteLength <= 2 * byteLength;
}

/** Of messages that are unread. */
const bytesOf = new WeakMap<object, Uint8Array>();

/** Stands for a message that nobody looks into. Written by {@link toBytes}. */
export function unreadMessage<D extends DescMessage>(desc: D, bytes: Uint8Array): MessageShape<D> {
  const message = { $typeName: desc.typeName } as MessageShape<D>;
  // A message that waits must not keep what else was read.
  bytesOf.set(message, ownsBuffer(bytes) ? bytes : copyOf(bytes));
  return message;
}

const copyOf = globalThis.Buffer?.from ?? ((bytes: Uint8Array) => bytes.slice());

/** As `write`, and the bytes of a message that is unread. */
export function toBytes<D extends DescMessage>(
  desc: D,
  message: MessageShape<D>,
  write = toBinary,
  options?: Partial<BinaryWriteOptions>,
): Uint8Array {
  return bytesOf.get(message) ?? write(desc, message, options);
}
