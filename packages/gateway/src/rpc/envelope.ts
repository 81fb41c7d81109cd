/** Messages in envelopes: one byte of flags, four bytes of length, then the message. */
import { Code, ConnectError } from "@connectrpc/connect";
import { type Compression, compressedFlag } from "@connectrpc/connect/protocol";
import { type Body, bytesOf } from "../http/body.ts";
import type { BodySink, Exchange } from "../http/exchange.ts";
import { type Envelope, EnvelopeSplitter, wrapEnvelope } from "./envelope-splitter.ts";

export interface EnvelopeOptions {
  /** The compression announced by the request. */
  readonly compression: Compression | null;
  readonly readMaxBytes: number;
  /** Envelopes with this flag contain no message and are skipped. 0 for none. */
  readonly endFlag: number;
}

/**
 * Reads the single message of a unary call, decompresses it, and returns what `parse` makes of it.
 *
 * @throws {ConnectError} RESOURCE_EXHAUSTED for a message above `readMaxBytes`, as soon as its
 * length is known; UNIMPLEMENTED for no message or more than one; INVALID_ARGUMENT for a truncated
 * envelope.
 */
export function readEnvelope<T>(
  exchange: Exchange,
  options: EnvelopeOptions,
  parse: (bytes: Uint8Array) => T,
): Promise<T> {
  const reader = new EnvelopeReader(options, parse);
  const read = exchange.readBody(reader);
  if (options.compression === null) return read;
  // An error in an envelope takes precedence over one after it, even if it is found later.
  return read.catch(async (error: unknown) => {
    if (error instanceof ConnectError) await reader.begun();
    throw error;
  });
}

/** Puts a message into an envelope. Compresses it if it is large enough. */
export function writeEnvelope(
  body: Body,
  compression: Compression | null,
  compressMinBytes: number,
): Uint8Array | Promise<Uint8Array> {
  const data = bytesOf(body);
  if (compression === null || data.byteLength < compressMinBytes) return wrapEnvelope(0, data);
  return compression.compress(data).then((bytes) => wrapEnvelope(compressedFlag, bytes));
}

/**
 * Splits a body as it arrives and parses complete messages. So an error in a message is reported
 * before an error after it, without waiting for the end of the body.
 */
class EnvelopeReader<T> implements BodySink<T> {
  readonly #options: EnvelopeOptions;
  readonly #parse: (bytes: Uint8Array) => T;
  readonly #splitter: EnvelopeSplitter;
  #hasEnd = false;
  readonly #begun: Promise<unknown>[] = [];
  #message: { readonly parsed: T | Promise<T> } | undefined;

  constructor(options: EnvelopeOptions, parse: (bytes: Uint8Array) => T) {
    this.#options = options;
    this.#splitter = new EnvelopeSplitter(options.readMaxBytes);
    this.#parse = parse;
  }

  push(chunk: Uint8Array): void {
    for (const envelope of this.#splitter.push(chunk)) this.#add(envelope);
  }

  /** @returns the single message. */
  end(): T | Promise<T> {
    if (this.#splitter.isAmid) {
      throw new ConnectError("protocol error: incomplete envelope", Code.InvalidArgument);
    }
    if (this.#message !== undefined) {
      const { parsed } = this.#message;
      return this.#begun.length === 0 ? parsed : this.begun().then(() => parsed);
    }
    throw new ConnectError(
      "protocol error: missing input message for unary method",
      Code.Unimplemented,
    );
  }

  /** Resolves when everything decompressed is valid; rejects with the first error. */
  async begun(): Promise<void> {
    for (const one of this.#begun) await one;
  }

  #add({ flags, data }: Envelope): void {
    const isEnd = (flags & this.#options.endFlag) !== 0;
    if (isEnd && this.#hasEnd) throw extraEnd(); // each would be decompressed
    this.#hasEnd ||= isEnd;
    const parsed = (flags & compressedFlag) === 0 ? undefined : this.#decompress(data, isEnd);
    if (isEnd) return;
    const message = parsed ?? this.#parse(data);
    if (this.#message !== undefined) {
      throw new ConnectError(
        "protocol error: received extra input message for unary method",
        Code.Unimplemented,
      );
    }
    this.#message = { parsed: message };
  }

  #decompress(data: Uint8Array, isEnd: boolean): Promise<T> {
    const { compression, readMaxBytes } = this.#options;
    if (compression === null) throw notDecompressible();
    const bytes = compression.decompress(data, readMaxBytes);
    const parsed = bytes.then((whole) => (isEnd ? undefined : this.#parse(whole))) as Promise<T>;
    parsed.catch(() => {}); // there may be nobody waiting for it
    this.#begun.push(parsed);
    return parsed;
  }
}

function extraEnd(): ConnectError {
  return new ConnectError("protocol error: received an extra end", Code.InvalidArgument);
}

function notDecompressible(): ConnectError {
  return new ConnectError(
    "received compressed envelope, but do not know how to decompress",
    Code.Internal,
  );
}
