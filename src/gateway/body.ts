/** Most bodies are one chunk: it is taken as it is. */
export function joinChunks(chunks: readonly Uint8Array[]): Uint8Array {
  const [only] = chunks;
  return only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks);
}

/** What a body is before it is written: JSON stays text until then, which Node writes faster. */
export type Body = Uint8Array | string;

export function byteLengthOf(body: Body): number {
  return typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
}

export function bytesOf(body: Body): Uint8Array {
  return typeof body === "string" ? Buffer.from(body) : body;
}
