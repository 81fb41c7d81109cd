import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/**
 * What happens to a piece that a client sends: it goes on; the connection is cut
 * before it does, or right behind it; it is carried out and the connection cut in
 * place of the whole answer, or of the last bytes of it; or nothing comes back,
 * for ever.
 */
export type Interference =
  | "pass"
  | "cut"
  | "cut-behind"
  | "lose-answer"
  | "truncate-answer"
  | "swallow";

/** A way to a PostgreSQL on which things go wrong, as a test says. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** The statements that were seen, by their first bytes; cut ones, too. */
  readonly seen: readonly Interference[];
  /** What the server has sent, in all. */
  readonly answerBytes: number;
  /** Decides about each piece that has the mark in it, until it is set again. */
  interfere: (seenBefore: number) => Interference;
  /** Ends all connections, and takes no new ones until it is allowed to. */
  refuse(): void;
  allow(): void;
}

/** ReadyForQuery, the end of every answer, is that long. */
const readyForQueryBytes = 6;

/** @param mark Bytes that are in each piece the test is about, such as a part of a statement. */
export async function openTcpProxy(targetPort: number, mark: string): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const seen: Interference[] = [];
  let isRefusing = false;
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
      if (now === "pass") client.write(piece);
      // The server has committed by the time it says that it is ready again.
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
