/**
 * The end of a complete HTTP/1.1 response (RFC 9112, section 6.3); undefined if it is incomplete.
 */
export function responseEnd(bytes: Buffer): number | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const head = bytes.toString("latin1", 0, headEnd).toLowerCase();
  const [, length] = /\r\ncontent-length: *(\d+)/.exec(head) ?? [];
  if (length !== undefined) {
    const end = headEnd + 4 + Number(length);
    return end <= bytes.length ? end : undefined;
  }
  if (!head.includes("\r\ntransfer-encoding: chunked")) {
    throw new Error(`an answer without a length: ${head}`);
  }
  // Our answers are short JSON, which cannot be mistaken for the last chunk.
  const lastChunk = bytes.indexOf("\r\n0\r\n\r\n", headEnd);
  return lastChunk < 0 ? undefined : lastChunk + 7;
}
