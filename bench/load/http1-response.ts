/** Where a response over HTTP/1.1 ends (RFC 9112, section 6.3), once it is all there. */
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
  // Our answers are short JSON, which cannot look like the last chunk.
  const lastChunk = bytes.indexOf("\r\n0\r\n\r\n", headEnd);
  return lastChunk < 0 ? undefined : lastChunk + 7;
}
