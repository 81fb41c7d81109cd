import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip, type Gunzip } from "node:zlib";
import { FormatError } from "./row.ts";

const magic = Buffer.from([0x1f, 0x8b]);

/** If it starts as gzip does (RFC 1952). @throws {FormatError} if it is damaged. */
export async function* unzip(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { start, all } = await peek(chunks, magic.length);
  if (!start.equals(magic)) return yield* all;
  const gunzip = createGunzip();
  const fed = feed(all, gunzip);
  fed.catch((error) => gunzip.destroy(error));
  try {
    yield* gunzip as AsyncIterable<Uint8Array>;
    await fed;
  } catch (error) {
    const isDamage = error instanceof Error && "code" in error && /^Z_/.test(String(error.code));
    throw isDamage ? new FormatError(`the gzip data is damaged: ${error.message}`) : error;
  }
}

/** Node ends at a zero byte after a member and ignores the rest. It may be padding, and no more. */
async function feed(chunks: AsyncIterable<Buffer>, gunzip: Gunzip): Promise<void> {
  let taken = Promise.withResolvers<unknown>();
  gunzip.once("close", () => taken.resolve(undefined));
  let bytes = 0;
  for await (const chunk of chunks) {
    if (gunzip.bytesWritten === bytes) {
      taken = Promise.withResolvers();
      gunzip.write(chunk, taken.resolve);
      await taken.promise;
    }
    const ignored = chunk.subarray(Math.max(gunzip.bytesWritten - bytes, 0));
    if (ignored.some((byte) => byte !== 0)) {
      throw new FormatError("the gzip data is followed by zero bytes and other data");
    }
    bytes += chunk.length;
  }
  gunzip.end();
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
  let first = Buffer.alloc(0);
  while (first.length < length) {
    const { done, value } = await rest.next();
    if (done === true) break;
    first = Buffer.concat([first, value]);
  }
  async function* all(): AsyncGenerator<Buffer> {
    if (first.length > 0) yield first;
    for await (const { buffer, byteOffset, byteLength } of { [Symbol.asyncIterator]: () => rest }) {
      yield Buffer.from(buffer, byteOffset, byteLength);
    }
  }
  return { start: first.subarray(0, length), all: all() };
}

const mark = Buffer.from("\ufeff");
/** Its mark, or a character of ASCII, as all our formats start. */
const utf16 = /^(?:\xff\xfe|\xfe\xff|[^\0]\0|\0[^\0])/;

/** Drops a byte order mark, which is not part of the text. @throws {FormatError} if in UTF-16. */
export async function* withoutMark(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const { start, all } = await peek(chunks, mark.length);
  if (utf16.test(start.toString("latin1"))) throw new FormatError("it is UTF-16: save it as UTF-8");
  let skip = start.equals(mark) ? mark.length : 0;
  for await (const bytes of all) {
    yield bytes.subarray(skip);
    skip = 0;
  }
}
