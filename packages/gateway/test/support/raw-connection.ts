import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { within } from "./within.ts";

/** A TCP connection that sends whatever a test wants. */
export interface RawConnection extends Disposable {
  readonly socket: Socket;
  /** Everything received so far. */
  readonly received: Buffer;
  write(bytes: string | Uint8Array): void;
  /** Ends our side; the other may continue. */
  end(): void;
  /** Resolves to everything received once it satisfies the condition. */
  until(what: string, isThere: (received: Buffer) => boolean): Promise<Buffer>;
  /** Resolves to everything received once the other side has closed. */
  untilClosed(): Promise<Buffer>;
}

/** @param options With `tls`, resolves once the handshake is complete; whatever the certificate. */
export async function openRawConnection(
  port: number,
  { tls, ...from }: { readonly localAddress?: string; readonly tls?: ConnectionOptions } = {},
): Promise<RawConnection> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true, ...from });
  await once(socket, "connect");
  if (tls === undefined) return createRawConnection(socket);
  const options = { socket, rejectUnauthorized: false, allowHalfOpen: true, ...tls };
  const secure = connectTls(options);
  await within("the handshake", once(secure, "secureConnect"));
  return createRawConnection(secure);
}

/** @param socket A connected TCP or TLS socket. */
export function createRawConnection(socket: Socket): RawConnection {
  const chunks: Buffer[] = [];
  const listeners = new Set<() => void>();
  let isClosed = false;
  const received = () => Buffer.concat(chunks);
  const tell = () => {
    for (const listener of listeners) listener();
  };
  socket.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    tell();
  });
  const close = () => {
    isClosed = true;
    tell();
  };
  // A reset ends the connection as well; what arrived before counts.
  socket.on("error", () => {});
  socket.on("end", close);
  socket.on("close", close);

  async function wait(what: string, isOver: () => boolean): Promise<Buffer> {
    const over = Promise.withResolvers<void>();
    const look = () => isOver() && over.resolve();
    listeners.add(look);
    look();
    try {
      await within(what, over.promise);
    } catch (cause) {
      const text = received().toString("latin1").slice(0, 2000);
      throw new Error(`${what}: did not come; received ${JSON.stringify(text)}`, { cause });
    } finally {
      listeners.delete(look);
    }
    return received();
  }

  return {
    socket,
    get received() {
      return received();
    },
    write: (bytes) => void socket.write(bytes),
    end: () => void socket.end(),
    async until(what, isThere) {
      const bytes = await wait(what, () => isThere(received()) || isClosed);
      if (isThere(bytes)) return bytes;
      const text = bytes.toString("latin1").slice(0, 2000);
      throw new Error(`${what}: the connection ended before; received ${JSON.stringify(text)}`);
    },
    untilClosed: () => wait("the end of the connection", () => isClosed),
    [Symbol.dispose]: () => void socket.destroy(),
  };
}
