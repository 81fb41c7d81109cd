const mark = Buffer.from("\ufeff");

/** Drops a byte order mark at the start of a file: it is not part of the text. */
export async function* withoutMark(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (head === undefined) {
      yield bytes;
      continue;
    }
    head = Buffer.concat([head, bytes]);
    if (head.length < mark.length) continue;
    yield withoutMarkAt(head);
    head = undefined;
  }
  if (head !== undefined && head.length > 0) yield head;
}

function withoutMarkAt(bytes: Buffer): Buffer {
  return bytes.subarray(0, mark.length).equals(mark) ? bytes.subarray(mark.length) : bytes;
}
