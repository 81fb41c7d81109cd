/** Preloaded into a server. Reports what the server's main thread keeps on its heap. */
process.on("message", () => {
  globalThis.gc?.();
  process.send?.(process.memoryUsage().heapUsed);
});
// The server may end before its parent does.
process.channel?.unref();
