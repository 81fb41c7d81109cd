import { connect } from "node:net";

export type Connection = ReturnType<typeof openConnection>;

/**
 * An attacker's connection: sends, and collects what arrives.
 *
 * @param isDeaf Whether it reads nothing from the server.
 */
export function openConnection(port: number, isDeaf = false) {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }).setMaxListeners(0);
  const chunks: Buffer[] = [];
  const connection = {
    socket,
    /** Whether the server has closed it, or it broke. */
    isEnded: false,
    get received(): Buffer {
      // Each byte is copied once.
      if (chunks.length > 1) chunks.push(Buffer.concat(chunks.splice(0)));
      return chunks[0] ?? Buffer.alloc(0);
    },
    /**
     * Resolves to whether the condition became true before the end and within the time. It is
     * looked at when something arrives, and when what was written has left.
     */
    async until(isThere: (received: Buffer) => boolean, limitMs: number): Promise<boolean> {
      const over = Promise.withResolvers<void>();
      const look = () => (connection.isEnded || isThere(connection.received)) && over.resolve();
      const timer = setTimeout(over.resolve, limitMs);
      socket.on("progress", look);
      look();
      await over.promise;
      socket.off("progress", look);
      clearTimeout(timer);
      return isThere(connection.received);
    },
  };
  const progress = () => socket.emit("progress");
  const end = () => {
    connection.isEnded = true;
    progress();
  };
  socket
    .on("error", () => {})
    .on("end", end)
    .on("close", end)
    .on("drain", progress);
  if (isDeaf) return connection;
  socket.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    progress();
  });
  return connection;
}
