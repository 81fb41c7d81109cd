import { connect, type Socket } from "node:net";

/** An attacker's connection: sends, and collects what arrives. */
export interface Connection {
  readonly socket: Socket;
  readonly received: Buffer;
  /** Whether the server has closed it, or it broke. */
  readonly isEnded: boolean;
  /** Resolves to whether the condition became true before the end and within the time. It is
   * looked at when something arrives, and when what was written has left. */
  until(isThere: (received: Buffer) => boolean, limitMs: number): Promise<boolean>;
}

/** @param isDeaf Whether it reads nothing from the server. */
export function openConnection(port: number, isDeaf = false): Connection {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let received = Buffer.alloc(0);
  let chunks: Buffer[] = [];
  let isEnded = false;
  const close = () => {
    isEnded = true;
    socket.emit("progress");
  };
  socket.on("error", () => {});
  socket.on("end", close);
  socket.on("close", close);
  socket.on("drain", () => socket.emit("progress"));
  socket.setMaxListeners(0);
  if (isDeaf) socket.pause();
  else {
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      socket.emit("progress");
    });
  }
  return {
    socket,
    get received() {
      if (chunks.length > 0) received = Buffer.concat([received, ...chunks]);
      chunks = [];
      return received;
    },
    get isEnded() {
      return isEnded;
    },
    async until(isThere, limitMs) {
      const over = Promise.withResolvers<void>();
      const look = () => (isEnded || isThere(this.received)) && over.resolve();
      const timer = setTimeout(over.resolve, limitMs);
      socket.on("progress", look);
      look();
      await over.promise;
      socket.off("progress", look);
      clearTimeout(timer);
      return isThere(this.received);
    },
  };
}
