import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/**
 * What happens to a piece from the client. It is forwarded. The connection is cut before or after
 * it. It is forwarded and the connection is cut instead of returning the answer, or the last bytes
 * of it. Or nothing is ever returned.
 */
export type Interference =
  | "pass"
  | "cut"
  | "cut-behind"
  | "lose-answer"
  | "truncate-answer"
  | "swallow";

/** A proxy for PostgreSQL that interferes as the test says. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** What happened to each statement, in order, including cut ones. */
  readonly seen: readonly Interference[];
  /** The number of bytes sent by the server. */
  readonly answerBytes: number;
  /** Decides about each piece that contains the mark. May be replaced. */
  interfere: (seenBefore: number) => Interference;
  /** Closes all connections, and rejects new ones until it is allowed again. */
  refuse(): void;
  allow(): void;
  /** From now on, accepts connections and everything on them, and never answers. */
  hang(): void;
}

/** The length of ReadyForQuery, which ends every answer. */
const readyForQueryBytes = 6;

/** @param mark Bytes in each piece that the test is about, such as a part of a statement. */
export async function openTcpProxy(targetPort: number, mark: string): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const seen: Interference[] = [];
  let isRefusing = false;
  let isHanging = false;
  let answerBytes = 0;

  const server = createServer((client) => {
    if (isRefusing) {
      client.destroy();
      return;
    }
    const target = connect(targetPort, "127.0.0.1");
    let now: Interference = "pass";
    const cut = () => {
      client.destroy();
      target.destroy();
    };
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on("error", cut);
      socket.on("close", () => {
        sockets.delete(socket);
        if (now !== "swallow") cut();
      });
    }
    client.on("data", (piece: Buffer) => {
      if (isHanging) return;
      if (piece.includes(mark)) {
        now = proxy.interfere(seen.length);
        seen.push(now);
      }
      if (now === "cut") cut();
      else if (now === "cut-behind") target.write(piece, cut);
      else if (now !== "swallow") target.write(piece);
    });
    target.on("data", (piece: Buffer) => {
      answerBytes += piece.length;
      if (now === "pass" && !isHanging) client.write(piece);
      // The server has committed by the time it reports that it is ready.
      if (!isEndOfAnswer(piece)) return;
      if (now === "lose-answer") cut();
      if (now === "truncate-answer") {
        const rest = piece.subarray(0, piece.length - readyForQueryBytes);
        client.write(rest, cut);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const cutAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const proxy: TcpProxy = {
    port: (server.address() as { port: number }).port,
    seen,
    get answerBytes() {
      return answerBytes;
    },
    interfere: () => "pass",
    refuse() {
      isRefusing = true;
      cutAll();
    },
    allow() {
      isRefusing = false;
    },
    hang() {
      isHanging = true;
    },
    async [Symbol.asyncDispose]() {
      cutAll();
      server.close();
      await once(server, "close");
    },
  };
  return proxy;
}

function isEndOfAnswer(piece: Buffer): boolean {
  return piece.at(-readyForQueryBytes) === "Z".charCodeAt(0);
}
