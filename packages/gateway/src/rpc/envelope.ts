/** Messages in envelopes: one byte of flags, four bytes of length, then the message. */
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import { type Compression, compressedFlag } from "@connectrpc/connect/protocol";
import { type Codec, messageTooLarge } from "../codec/codec.ts";
import { type Decoding, decode } from "../codec/decode.ts";
import { ownsBuffer } from "../codec/passed.ts";
import { type Body, BodyBuffer, bytesOf } from "../http/body.ts";
import { type Holding, requestBytes } from "../http/body-budget.ts";
import type { BodySink, Exchange } from "../http/exchange.ts";
import type { Awaitable, Call, Message, Terms } from "./call.ts";
import type { Endpoint } from "./endpoint.ts";
import { RpcRoute } from "./face.ts";
import { unpack } from "./unpack.ts";

export interface EnvelopeReading<T> extends Decoding<T> {
  readonly compression: Compression | null;
  readonly readMaxBytes: number;
  /** Envelopes with this flag contain no message and are skipped. 0 for none. Others are rejected. */
  readonly endFlag: number;
  /** Undoes an encoding of the whole body. */
  readonly decoder?: Pick<Base64Decoder, "push" | "end"> | undefined;
  readonly errors: EnvelopeErrors;
}

export interface EnvelopeErrors {
  readonly incomplete: () => Error;
  readonly missing: () => Error;
  /** A second message where one is expected. */
  readonly extra: () => Error;
}

export function requestErrors(kind: string): EnvelopeErrors {
  const wrongCount = (what: string) => {
    const text = `protocol error: ${what} input message for ${kind.replace("_", "-")} method`;
    return new ConnectError(text, Code.Unimplemented);
  };
  return {
    incomplete: () => new ConnectError("protocol error: incomplete envelope", Code.InvalidArgument),
    missing: () => wrongCount("missing"),
    extra: () => wrongCount("received extra"),
  };
}

/**
 * Reads the single message of a request.
 * @throws {ConnectError} RESOURCE_EXHAUSTED above `readMaxBytes`, as soon as its length is known;
 * UNIMPLEMENTED for no message or more than one; INVALID_ARGUMENT for a truncated envelope.
 */
export function readEnvelope<T>(
  exchange: Pick<Exchange, "readBody" | "holding">,
  reading: EnvelopeReading<T>,
): Promise<T> {
  const reader = new EnvelopeReader(reading, exchange.holding);
  const read = exchange.readBody(reader);
  if (reading.compression === null) return read;
  // An error in an envelope takes precedence over one after it, even if it is found later.
  return read.catch(async (error: unknown) => {
    if (error instanceof ConnectError) await reader.begun();
    throw error;
  });
}

/** Reads the messages of a body as they come. @throws as {@link readEnvelope}. */
export async function* readEnvelopes<T>(
  exchange: Pick<Exchange, "chunks" | "holding">,
  reading: EnvelopeReading<T>,
): AsyncGenerator<T> {
  const { holding } = exchange;
  const splitter = new EnvelopeSplitter(reading.readMaxBytes, holding);
  let hasEnd = false;
  let held = 0;
  const tell = (bytes: number) => (held += bytes);
  for await (const chunk of exchange.chunks()) {
    const room = splitter.push(reading.decoder?.push(chunk) ?? chunk);
    if (room !== undefined) await room;
    for (let one = splitter.next(); one !== undefined; one = splitter.next()) {
      const isEnd = isEndIn(one.flags, reading);
      if (isEnd && hasEnd) throw extraEnd();
      hasEnd ||= isEnd;
      let { data } = one;
      if ((one.flags & compressedFlag) !== 0) {
        data = await decompress(data, reading, holding);
        held = data.byteLength;
      }
      if (!isEnd) yield decode(data, reading, holding, tell);
      // Whoever asks for the next message is done with this one.
      if (held > 0) holding?.give(held);
      held = 0;
    }
    splitter.settle();
  }
  assertComplete(splitter, reading);
}

/** Puts a message into an envelope. Compresses it if it is large enough. */
export function writeEnvelope(
  { compression: { response }, wire: { options } }: Pick<Call, "compression" | "wire">,
  body: Body,
  flags = 0,
): Uint8Array | Promise<Uint8Array> {
  const data = bytesOf(body);
  const isSmall = data.byteLength < options.compressMinBytes;
  if (response === null || isSmall) return wrapEnvelope(flags, data);
  return response.compress(data).then((bytes) => wrapEnvelope(flags | compressedFlag, bytes));
}

/** Parses a message as soon as it is complete. So an error in it is reported before one after it. */
export class EnvelopeReader<T> implements BodySink<T> {
  readonly #reading: EnvelopeReading<T>;
  readonly #holding: Holding | undefined;
  readonly #counted: number;
  /** Undefined while the body is one chunk with one envelope. */
  #splitter: EnvelopeSplitter | undefined;
  #hasEnd = false;
  readonly #begun: Promise<unknown>[] = [];
  #message: { readonly parsed: Awaitable<T> } | undefined;

  /** @param counted The bytes of the body that are counted already. */
  constructor(reading: EnvelopeReading<T>, holding: Holding | undefined, counted = requestBytes) {
    this.#reading = reading;
    this.#holding = holding;
    this.#counted = counted;
  }

  push(chunk: Uint8Array): Promise<void> | undefined {
    const { decoder, readMaxBytes } = this.#reading;
    const bytes = decoder === undefined ? chunk : decoder.push(chunk);
    const isSmall = this.#splitter === undefined && bytes.length <= this.#counted;
    if (isSmall && this.#message === undefined && isEnvelope(bytes, readMaxBytes)) {
      this.#add(bytes[0] ?? 0, bytes.subarray(headBytes));
      return undefined;
    }
    this.#splitter ??= new EnvelopeSplitter(readMaxBytes, this.#holding, this.#counted);
    const room = this.#splitter.push(bytes);
    for (let one = this.#splitter.next(); one !== undefined; one = this.#splitter.next()) {
      this.#add(one.flags, one.data);
    }
    return room;
  }

  end(): Awaitable<T> {
    assertComplete(this.#splitter, this.#reading);
    if (this.#message === undefined) throw this.#reading.errors.missing();
    const { parsed } = this.#message;
    return this.#begun.length === 0 ? parsed : this.begun().then(() => parsed);
  }

  /** Resolves when everything decompressed is valid; rejects with the first error. */
  async begun(): Promise<void> {
    for (const one of this.#begun) await one;
  }

  #add(flags: number, data: Uint8Array): void {
    const isEnd = isEndIn(flags, this.#reading);
    if (isEnd && this.#hasEnd) throw extraEnd(); // each one would be decompressed
    this.#hasEnd ||= isEnd;
    const isPacked = (flags & compressedFlag) !== 0;
    if (isEnd && !isPacked) return;
    const parsed = isPacked
      ? this.#unpack(data, isEnd)
      : decode(data, this.#reading, this.#holding);
    if (parsed instanceof Promise) {
      parsed.catch(() => {}); // it may never be awaited
      this.#begun.push(parsed);
    }
    if (isEnd) return;
    if (this.#message !== undefined) throw this.#reading.errors.extra();
    this.#message = { parsed };
  }

  async #unpack(data: Uint8Array, isEnd: boolean): Promise<T> {
    const whole = await decompress(data, this.#reading, this.#holding);
    return isEnd ? (undefined as T) : decode(whole, this.#reading, this.#holding);
  }
}

function assertComplete(pending: BodyBuffer | undefined, reading: EnvelopeReading<unknown>) {
  reading.decoder?.end();
  if (pending !== undefined && pending.length > 0) throw reading.errors.incomplete();
}

/** As in grpc-go and connect-go: what a reserved flag will mean is unknown. */
function isEndIn(flags: number, { endFlag }: EnvelopeReading<unknown>): boolean {
  if ((flags & ~(endFlag | compressedFlag)) === 0) return (flags & endFlag) !== 0;
  throw new ConnectError(`protocol error: invalid envelope flags ${flags}`, Code.Internal);
}

function extraEnd(): ConnectError {
  return new ConnectError("protocol error: received an extra end", Code.InvalidArgument);
}

function decompress(
  data: Uint8Array,
  { compression, readMaxBytes }: EnvelopeReading<unknown>,
  holding: Holding | undefined,
): Promise<Uint8Array> {
  if (compression !== null) return unpack(data, compression, readMaxBytes, holding);
  const message = "received compressed envelope, but do not know how to decompress";
  throw new ConnectError(message, Code.Internal);
}

export const headBytes = 5;

/** Splits a body. Allocates for what has arrived; what is announced is only counted. */
export class EnvelopeSplitter extends BodyBuffer {
  declare private readonly readMaxBytes: number;

  constructor(readMaxBytes: number, holding?: Holding, counted?: number) {
    super(holding, counted);
    this.readMaxBytes = readMaxBytes;
  }

  /** @throws {ConnectError} RESOURCE_EXHAUSTED as `next`. @returns as `append`. */
  push(chunk: Uint8Array): Promise<void> | undefined {
    const head = this.length === 0 ? chunk : this.buffer;
    return this.append(chunk, headBytes + lengthIn(head, this.readMaxBytes));
  }

  /** Undefined until it is complete. @throws {ConnectError} RESOURCE_EXHAUSTED by its length. */
  next(): { readonly flags: number; readonly data: Uint8Array } | undefined {
    if (this.length < headBytes) return undefined;
    const length = lengthIn(this.buffer, this.readMaxBytes);
    if (this.length < headBytes + length) return undefined;
    const bytes = this.take(headBytes + length);
    return { flags: bytes[0] ?? 0, data: bytes.subarray(headBytes) };
  }
}

/** Whether a chunk is one whole envelope, as most are. @throws as `next`. */
function isEnvelope(chunk: Uint8Array, readMaxBytes: number): boolean {
  return chunk.length >= headBytes && chunk.length === headBytes + lengthIn(chunk, readMaxBytes);
}

export function lengthIn(head: Uint8Array, readMaxBytes: number): number {
  const length =
    (head[1] ?? 0) * 2 ** 24 + ((head[2] ?? 0) << 16) + ((head[3] ?? 0) << 8) + (head[4] ?? 0);
  if (length <= readMaxBytes) return length;
  throw messageTooLarge(readMaxBytes);
}

export function wrapEnvelope(flags: number, data: Uint8Array): Uint8Array {
  const { byteLength, byteOffset } = data;
  // A message that is passed on still has its head before it. In Node's pool, others could write there.
  if (byteOffset >= headBytes && ownsBuffer(data)) {
    const whole = new Uint8Array(data.buffer, byteOffset - headBytes, headBytes + byteLength);
    if (whole[0] === flags && isEnvelope(whole, Number.POSITIVE_INFINITY)) return whole;
  }
  const bytes = allocate(headBytes + byteLength);
  bytes[0] = flags;
  bytes[1] = byteLength >>> 24;
  bytes[2] = byteLength >>> 16;
  bytes[3] = byteLength >>> 8;
  bytes[4] = byteLength;
  bytes.set(data, headBytes);
  return bytes;
}

/** Uses Node's pool if there is one. A separate ArrayBuffer for each message would be the largest cost. */
const allocate: (size: number) => Uint8Array<ArrayBuffer> =
  globalThis.Buffer?.allocUnsafe ?? ((size) => new Uint8Array(size));

export interface EnvelopeVariant {
  readonly terms: Terms;
  readonly contentType: string;
  readonly codec: Codec;
  /** Marks envelopes that contain no message but the end; 0 for none. */
  readonly endFlag: number;
  /** Whether bodies are in base64. */
  readonly isText?: boolean;
}

/** A method by a protocol whose messages are in envelopes. */
export abstract class EnvelopeRoute extends RpcRoute {
  protected readonly variant: EnvelopeVariant;
  readonly #reading: Omit<EnvelopeReading<Message>, "compression">;

  constructor(endpoint: Endpoint, variant: EnvelopeVariant) {
    super(endpoint, variant.terms, variant.contentType);
    this.variant = variant;
    const { readMaxBytes, readMaxValues } = endpoint.options;
    const errors = requestErrors(endpoint.spec.kind);
    const { endFlag, codec } = variant;
    this.#reading = { readMaxBytes, readMaxValues, endFlag, errors, parse: codec.parse };
  }

  read({ exchange, compression: { request: compression } }: Call): Promise<Message> {
    const decoder = this.variant.isText ? new Base64Decoder() : undefined;
    return readEnvelope(exchange, { ...this.#reading, compression, decoder });
  }

  readAll({ exchange, compression: { request: compression } }: Call): AsyncIterable<Message> {
    const decoder = this.variant.isText ? new Base64Decoder() : undefined;
    return readEnvelopes(exchange, { ...this.#reading, compression, decoder });
  }

  chunk(call: Call, message: Message): Uint8Array | Promise<Uint8Array> {
    const envelope = writeEnvelope(call, this.variant.codec.serialize(message));
    if (!this.variant.isText) return envelope;
    return envelope instanceof Promise ? envelope.then(base64Of) : base64Of(envelope);
  }
}

const latin1 = new TextDecoder("latin1");

/** For gRPC-Web over text: complete groups, with padding, so that clients can decode them at once. */
export function base64Of(bytes: Uint8Array): Uint8Array {
  return bytesOf(base64Encode(bytes));
}

/** Decodes a body as it arrives. Each message in it may have its own padding. */
export class Base64Decoder {
  #rest = "";

  push(chunk: Uint8Array): Uint8Array {
    const text = this.#rest + latin1.decode(chunk);
    const whole = text.length - (text.length % 4);
    this.#rest = text.slice(whole);
    const groups = text.slice(0, whole);
    if (!wholeGroups.test(groups)) throw notBase64();
    const parts = groups.match(/[^=]+=*/g) ?? [];
    const decoded = new BodyBuffer();
    for (const part of parts) void decoded.append(base64Decode(part));
    return decoded.bytes;
  }

  /** @throws {ConnectError} INVALID_ARGUMENT if a group is incomplete. */
  end(): void {
    if (this.#rest !== "") throw notBase64();
  }
}

const wholeGroups = /^(?:[A-Za-z\d+/]{4}|[A-Za-z\d+/]{3}=|[A-Za-z\d+/]{2}==)*$/;

function notBase64(): ConnectError {
  return new ConnectError("protocol error: the body is not base64", Code.InvalidArgument);
}
