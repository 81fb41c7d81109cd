import type { Socket } from "node:net";

// RFC 9113 section 3.4: how every HTTP/2 connection with prior knowledge begins.
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

export type Protocol = "http/1.1" | "h2";

/**
 * Detects the protocol of a connection by its first bytes. `P` may begin POST, PUT, PATCH or PRI, so
 * it waits until only one protocol is possible. The bytes stay in the socket for its reader.
 *
 * @param timeoutMs How long the bytes may take.
 * @param onDecided Called once, unless the connection ends before.
 */
export function sniffProtocol(
  socket: Socket,
  timeoutMs: number,
  onDecided: (protocol: Protocol | "timeout") => void,
): void {
  let seen: Buffer = Buffer.alloc(0);

  function onReadable(): void {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, preface.length);
    const isPreface = seen.compare(preface, 0, length, 0, length) === 0;
    if (!isPreface) decide("http/1.1");
    else if (length === preface.length) decide("h2");
  }

  function decide(protocol: Protocol | "timeout"): void {
    stop();
    if (seen.length > 0) socket.unshift(seen);
    onDecided(protocol);
  }

  /** Mostly a health check that only connects. */
  function onEnd(): void {
    stop();
    socket.destroy();
  }

  function stop(): void {
    clearTimeout(timer);
    socket.off("readable", onReadable);
    socket.off("end", onEnd);
    socket.off("close", stop);
  }

  const timer = setTimeout(decide, timeoutMs, "timeout");
  socket.on("readable", onReadable);
  socket.on("end", onEnd);
  socket.on("close", stop);
}
