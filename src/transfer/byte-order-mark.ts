import { peek } from "./peek.ts";

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
