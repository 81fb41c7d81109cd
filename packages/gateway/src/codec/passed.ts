/** Messages that are passed on unread, in the bytes in which they came. */
import {
  type BinaryWriteOptions,
  create,
  type DescMessage,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type ContextKey, createContextKey } from "@connectrpc/connect";
import { beginMessage, endMessage, smallBytes } from "./decode.ts";

/** For a call by our gRPC transport: whether its answers are for a caller who takes bytes. */
export const passesOn: ContextKey<boolean> = createContextKey(false, {
  description: "whether answers are passed on",
});

/** The implementations of services that pass requests on to our gRPC transport. */
export const passers: WeakSet<object> = new WeakSet();

/**
 * Whether bytes are large, and at least half of their buffer: not a part of Node's pool or of what else
 * was read. V8 creates the buffer of small ones when it is first asked for.
 */
export function ownsBuffer(bytes: Uint8Array): boolean {
  const { byteLength } = bytes;
  return byteLength > smallBytes && bytes.buffer.byteLength <= 2 * byteLength;
}

type Message = MessageShape<DescMessage>;

const unreadOf = new WeakMap<object, Unread>();

/**
 * A message that is only parsed if somebody looks into it, with the errors of `parse`. Until then,
 * it is written in its bytes.
 *
 * @param valuesMax How many values it may then have, as in {@link beginMessage}.
 */
export function unreadMessage<D extends DescMessage>(
  desc: D,
  bytes: Uint8Array,
  parse: (bytes: Uint8Array) => MessageShape<D>,
  valuesMax: number,
): MessageShape<D> {
  // A message that waits must not keep what else was read.
  const unread = new Unread(ownsBuffer(bytes) ? bytes : copyOf(bytes), parse, valuesMax);
  const message = new Proxy<Message>(create(desc), unread);
  unreadOf.set(message, unread);
  return message as MessageShape<D>;
}

const copyOf = globalThis.Buffer?.from ?? ((bytes: Uint8Array) => bytes.slice());

/** Looks into a message before anything is done with it but ask for its type. */
class Unread implements ProxyHandler<Message> {
  /** Undefined once it is read: it may be changed then. */
  bytes: Uint8Array | undefined;
  readonly #parse: (bytes: Uint8Array) => Message;
  readonly #valuesMax: number;

  constructor(bytes: Uint8Array, parse: (bytes: Uint8Array) => Message, valuesMax: number) {
    this.bytes = bytes;
    this.#parse = parse;
    this.#valuesMax = valuesMax;
  }

  get(target: Message, name: string | symbol): unknown {
    // Promises ask for `then`.
    if (name !== "$typeName" && (name !== "then" || name in target)) this.#read(target);
    return Reflect.get(target, name);
  }

  has(target: Message, name: string | symbol): boolean {
    if (name !== "$typeName") this.#read(target);
    return Reflect.has(target, name);
  }

  set(target: Message, name: string | symbol, value: unknown): boolean {
    this.#read(target);
    return Reflect.set(target, name, value);
  }

  deleteProperty(target: Message, name: string | symbol): boolean {
    this.#read(target);
    return Reflect.deleteProperty(target, name);
  }

  ownKeys(target: Message): (string | symbol)[] {
    this.#read(target);
    return Reflect.ownKeys(target);
  }

  getOwnPropertyDescriptor(target: Message, name: string | symbol) {
    this.#read(target);
    return Reflect.getOwnPropertyDescriptor(target, name);
  }

  #read(target: Message): void {
    if (this.bytes === undefined) return;
    beginMessage(this.#valuesMax);
    try {
      Object.assign(target, this.#parse(this.bytes));
    } finally {
      endMessage();
    }
    this.bytes = undefined;
  }
}

/** As `toBinary`. Without options, the bytes of a message that is unread. */
export function toBytes<D extends DescMessage>(
  desc: D,
  message: MessageShape<D>,
  options?: Partial<BinaryWriteOptions>,
): Uint8Array {
  const unread = options === undefined ? unreadOf.get(message)?.bytes : undefined;
  return unread ?? toBinary(desc, message, options);
}
