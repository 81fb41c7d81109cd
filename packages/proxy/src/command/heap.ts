import v8 from "node:v8";

/**
 * Shortens V8's pauses. V8 reads these flags at each collection. Set before the start, they would make
 * cached code invalid.
 */
export function shortenCollections(): void {
  // V8 may allocate the objects of requests in the old generation, because many of them survive a
  // collection while their answer is due. There they keep younger objects alive until a full collection.
  v8.setFlagsFromString("--no-allocation-site-pretenuring");
  // node:http2 allocates each header value as a string outside the heap, which only a full collection
  // frees, at some 150 ns each. By default there is one every few seconds under load, of up to 0.2 s.
  v8.setFlagsFromString("--heap-growing-percent=20");
}
