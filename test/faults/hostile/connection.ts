import { connect, type Socket } from "node:net";

export type Connection = ReturnType<typeof openConnection>;

/**
 * An attacker's connection: sends, and collects what arrives.
 *
 * @param isDeaf Whether it reads nothing from the server.
 */
export function openConnection(port: number, isDeaf = false) {
  const socket: Socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let chunks: Buffer[] = [];
  let isEnded = false;
  const close = () => {
    isEnded = true;
    socket.emit("progress");
  };
  socket.setMaxListeners(0);
  socket.on("error", () => {});
  socket.on("end", close);
  socket.on("close", close);
  socket.on("drain", () => socket.emit("progress"));
  if (isDeaf) socket.pause();
  else {
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      socket.emit("progress");
    });
  }
  const received = () => {
    if (chunks.length > 1) chunks = [Buffer.concat(chunks)];
    return chunks[0] ?? Buffer.alloc(0);
  };
  return {
    socket,
    get received() {
      return received();
    },
    /** Whether the server has closed it, or it broke. */
    get isEnded() {
      return isEnded;
    },
    /**
     * Resolves to whether the condition became true before the end and within the time. It is
     * looked at when something arrives, and when what was written has left.
     */
    async until(isThere: (received: Buffer) => boolean, limitMs: number): Promise<boolean> {
      const over = Promise.withResolvers<void>();
      const look = () => (isEnded || isThere(received())) && over.resolve();
      const timer = setTimeout(over.resolve, limitMs);
      socket.on("progress", look);
      look();
      await over.promise;
      socket.off("progress", look);
      clearTimeout(timer);
      return isThere(received());
    },
  };
}
