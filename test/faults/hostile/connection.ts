import { connect, type Socket } from "node:net";

/** An attacker's connection: sends, and collects what arrives. */
export interface Connection {
  readonly socket: Socket;
  readonly received: Buffer;
  /** Resolves when the server has closed it, or it broke. */
  readonly ended: Promise<void>;
  readonly isEnded: boolean;
  /** Resolves to whether the condition became true before the end and within the time. */
  until(isThere: (received: Buffer) => boolean, limitMs: number): Promise<boolean>;
}

/** @param isDeaf Whether it reads nothing from the server. */
export function openConnection(port: number, isDeaf = false): Connection {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  const chunks: Buffer[] = [];
  const listeners = new Set<() => void>();
  const end = Promise.withResolvers<void>();
  let isEnded = false;
  const look = () => {
    for (const listener of listeners) listener();
  };
  const close = () => {
    isEnded = true;
    end.resolve();
    look();
  };
  socket.on("error", () => {});
  socket.on("end", close);
  socket.on("close", close);
  if (isDeaf) {
    socket.pause();
  } else {
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      look();
    });
  }
  const received = () => {
    if (chunks.length > 1) chunks.splice(0, chunks.length, Buffer.concat(chunks));
    return chunks[0] ?? Buffer.alloc(0);
  };

  async function until(isThere: (received: Buffer) => boolean, limitMs: number): Promise<boolean> {
    const over = Promise.withResolvers<void>();
    const listener = () => (isThere(received()) || isEnded) && over.resolve();
    const timer = setTimeout(over.resolve, limitMs);
    listeners.add(listener);
    listener();
    await over.promise;
    listeners.delete(listener);
    clearTimeout(timer);
    return isThere(received());
  }

  return {
    socket,
    get received() {
      return received();
    },
    get isEnded() {
      return isEnded;
    },
    ended: end.promise,
    until,
  };
}
