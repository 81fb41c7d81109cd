import v8 from "node:v8";

/**
 * Keeps V8's pauses short. It looks at these flags whenever it collects, and so may be told at
 * any time; if it were told before the start, it would refuse the cached code of what is loaded then.
 */
export function collectLittleAtOnce(): void {
  // V8 may come to allocate the objects of requests among the old ones, because many of them
  // outlive a collection while their commit is under way. From there they hold all that hangs on
  // them until a full collection, requests that came later too.
  v8.setFlagsFromString("--no-allocation-site-pretenuring");
  // node:http2 makes every value of a header a string that only a full collection frees, at some
  // 150 ns each. By default there is one every few seconds under load, and it takes up to 0.2 s.
  v8.setFlagsFromString("--heap-growing-percent=20");
}
