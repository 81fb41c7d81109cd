import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { peek } from "./peek.ts";
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

/** Compresses a file as gzip. */
export async function* zip(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip();
  pipeline(Readable.from(chunks), gzip).catch(() => {});
  yield* gzip as AsyncIterable<Uint8Array>;
}
