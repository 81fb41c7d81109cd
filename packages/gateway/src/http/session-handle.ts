import type { Http2Session, Http2Stream } from "node:http2";

/**
 * Keeps the memory of a session for as long as its broken streams. A stream that ends between the
 * headers and the trailers of its peer keeps headers in that memory. If V8 collects the session
 * before such a stream, Node aborts the process (`current_nghttp2_memory_`). So anybody could end it.
 *
 * @returns what to call with each stream when it has closed.
 */
export function outliveStreams(session: Http2Session): (stream: Http2Stream) => void {
  const symbol = Object.getOwnPropertySymbols(session).find(
    ({ description }) => description === "kHandle",
  );
  const handle: unknown = symbol && Reflect.get(session, symbol);
  return (stream) => {
    const isWhole = stream.rstCode === 0 && stream.readableEnded;
    if (!isWhole) handles.register(stream, handle);
  };
}

/** Holds a session's handle until the stream is collected, and the stream's own handle with it. */
const handles = new FinalizationRegistry<unknown>(() => {});
