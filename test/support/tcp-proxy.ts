import { openRelay } from "../../packages/gateway/test/support/relay.ts";

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

export type TcpProxy = Awaited<ReturnType<typeof openTcpProxy>>;

/** The length of ReadyForQuery, which ends every answer. */
const readyForQueryBytes = 6;

/**
 * A proxy for PostgreSQL that interferes as the test says.
 *
 * @param mark Bytes in each piece that the test is about, such as a part of a statement.
 */
export async function openTcpProxy(targetPort: number, mark: string) {
  /** What happened to each statement, in order, including cut ones. */
  const seen: Interference[] = [];
  let isRefusing = false;
  let isHanging = false;
  let answerBytes = 0;
  const relay = await openRelay(targetPort, (client, target) => {
    let now: Interference = "pass";
    const cut = () => {
      client.destroy();
      target.destroy();
    };
    if (isRefusing) cut();
    for (const socket of [client, target]) {
      socket.on("error", cut);
      socket.on("close", () => now !== "swallow" && cut());
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
      if (piece.at(-readyForQueryBytes) !== "Z".charCodeAt(0)) return;
      if (now === "lose-answer") cut();
      if (now === "truncate-answer") client.write(piece.subarray(0, -readyForQueryBytes), cut);
    });
  });
  const proxy = {
    ...{ port: relay.port, seen },
    get answerBytes() {
      return answerBytes;
    },
    /** Decides about each piece that contains the mark. May be replaced. */
    interfere: (_seenBefore: number): Interference => "pass",
    /** Closes all connections, and rejects new ones until it is allowed again. */
    refuse() {
      isRefusing = true;
      relay.cut();
    },
    allow() {
      isRefusing = false;
      isHanging = false;
    },
    /** From now on, accepts connections and everything on them, and never answers. */
    hang() {
      isHanging = true;
    },
    [Symbol.asyncDispose]: relay[Symbol.asyncDispose],
  };
  return proxy;
}
