import type { Http2Session, Http2Stream } from "node:http2";

/**
 * Keeps the memory of a session for as long as its broken streams. A stream that ends between the
 * headers and the trailers of its peer keeps headers in that memory. If V8 collects the session
 * before such a stream, Node aborts the process (`current_nghttp2_memory_`). So anybody could end it.
 *
 * @returns what to call with each stream that opens. That returns what to call when it has closed.
 */
export function outliveStreams(session: Http2Session): (stream: Http2Stream) => () => void {
  const symbol = Object.getOwnPropertySymbols(session).find(
    ({ description }) => description === "kHandle",
  );
  const handleOf = (owner: object) => (symbol && Reflect.get(owner, symbol)) as object | undefined;
  // Weakly: the streams of a handle would keep their session, and that the handle.
  const kept = handleOf(session);
  const handle = kept && new WeakRef(kept);
  return (stream) => {
    let own = handleOf(stream);
    return () => {
      const isWhole = stream.rstCode === 0 && stream.readableEnded;
      if (!isWhole && own !== undefined) handles.register(own, handle?.deref());
      own = undefined; // or the session would keep it
    };
  };
}

/** Holds the handle of a session until the handle of its stream is collected. */
const handles = new FinalizationRegistry<unknown>(() => {});
