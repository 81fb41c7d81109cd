/** Messages on the standard streams of the suite: four bytes of length, little-endian, then the message. */
const prefixLength = 4;

/** Reads until the suite closes the stream. */
export async function* readFrames(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pending = Buffer.alloc(0);
  for await (const chunk of stream) {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= prefixLength) {
      const end = prefixLength + pending.readUInt32LE();
      if (pending.length < end) break;
      yield pending.subarray(prefixLength, end);
      pending = pending.subarray(end);
    }
  }
}

export function writeFrame(bytes: Uint8Array, stream: NodeJS.WritableStream): void {
  const prefix = Buffer.alloc(prefixLength);
  prefix.writeUInt32LE(bytes.length);
  stream.write(Buffer.concat([prefix, bytes]));
}
