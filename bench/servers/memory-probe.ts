/** Loaded before a server, it tells what the server's main thread keeps on its heap. */
process.on("message", () => {
  globalThis.gc?.();
  process.send?.(process.memoryUsage().heapUsed);
});
// The server may end while its parent is still there.
process.channel?.unref();
