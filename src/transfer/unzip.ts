import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { FormatError } from "./row.ts";

const magic = Buffer.from([0x1f, 0x8b]);

/** If it starts as gzip does (RFC 1952). @throws {FormatError} if it is damaged. */
export async function* unzip(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { start, all } = await peek(chunks, magic.length);
  if (!start.equals(magic)) return yield* all;
  const gunzip = createGunzip();
  pipeline(Readable.from(all), gunzip).catch(() => {});
  try {
    yield* gunzip as AsyncIterable<Uint8Array>;
  } catch (error) {
    const isDamage = error instanceof Error && "code" in error && /^Z_/.test(String(error.code));
    throw isDamage ? new FormatError(`the gzip data is damaged: ${error.message}`) : error;
  }
}

export async function* zip(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip();
  pipeline(Readable.from(chunks), gzip).catch(() => {});
  yield* gzip as AsyncIterable<Uint8Array>;
}

/** The first bytes of a file, fewer if it is shorter, and all of it. */
async function peek(
  chunks: AsyncIterable<Uint8Array>,
  length: number,
): Promise<{ readonly start: Buffer; readonly all: AsyncGenerator<Buffer> }> {
  const rest = chunks[Symbol.asyncIterator]();
  const taken: Buffer[] = [];
  let bytes = 0;
  while (bytes < length) {
    const { done, value } = await rest.next();
    if (done === true) break;
    taken.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
    bytes += value.byteLength;
  }
  const first = Buffer.concat(taken);
  async function* all(): AsyncGenerator<Buffer> {
    if (first.length > 0) yield first;
    for await (const { buffer, byteOffset, byteLength } of { [Symbol.asyncIterator]: () => rest }) {
      yield Buffer.from(buffer, byteOffset, byteLength);
    }
  }
  return { start: first.subarray(0, length), all: all() };
}

const mark = Buffer.from("\ufeff");

/** Drops a byte order mark at the start of a file: it is not part of the text. */
export async function* withoutMark(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const { start, all } = await peek(chunks, mark.length);
  let skip = start.equals(mark) ? mark.length : 0;
  for await (const bytes of all) {
    yield bytes.subarray(skip);
    skip = 0;
  }
}
