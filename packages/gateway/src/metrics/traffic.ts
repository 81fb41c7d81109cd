import type { Socket } from "node:net";
import { Counter, Gauge, type Registry } from "@prometheus-io/client";
import type { TrafficObserver } from "../server/port.ts";
import type { OnRefusal, RefusalKind } from "../server/refusal.ts";
import { createWatches } from "./watched.ts";

const refusalKinds: readonly RefusalKind[] = [
  "handshake",
  "malformed",
  "tunnel",
  "late",
  "expectation",
  "oversized",
];

/** Counts connections, their bytes, and what of HTTP is refused before it is a call; notes the certificate. */
export class Traffic implements TrafficObserver {
  readonly #open = new Set<Socket>();
  /** Of connections that are closed. */
  readonly #closed = { bytesRead: 0, bytesWritten: 0 };
  readonly #opened: Counter;
  readonly #refusals: Counter<"reason">;
  readonly #certificate: Gauge;

  constructor(prefix: string, registry: Registry) {
    const registers = [registry];
    this.#refusals = new Counter({
      name: `${prefix}_http_refusals_total`,
      help: "What was refused by the rules of HTTP, mostly before it was a request.",
      labelNames: ["reason"],
      registers,
    });
    for (const reason of refusalKinds) this.#refusals.inc({ reason }, 0);
    const open = this.#open;
    const { gauge, counter } = createWatches(prefix, registry);
    gauge("connections", "Open connections.", () => open.size);
    this.#opened = new Counter({
      name: `${prefix}_connections_opened_total`,
      help: "Connections that were opened.",
      registers,
    });
    // Added up when they are asked for: for each byte it would cost too much.
    const total = (way: "bytesRead" | "bytesWritten") => () =>
      open.values().reduce((sum, socket) => sum + socket[way], this.#closed[way]);
    counter("received_bytes_total", "Bytes that came over connections.", total("bytesRead"));
    counter("sent_bytes_total", "Bytes that were written to connections.", total("bytesWritten"));
    this.#certificate = new Gauge({
      name: `${prefix}_tls_certificate_expiration_timestamp_seconds`,
      help: "When the TLS certificate in use expires, in seconds since the epoch. Absent without TLS.",
      registers,
    });
    this.#certificate.remove();
  }

  opened(socket: Socket): void {
    this.#open.add(socket);
    this.#opened.inc();
    socket.once("close", () => {
      this.#open.delete(socket);
      this.#closed.bytesRead += socket.bytesRead;
      this.#closed.bytesWritten += socket.bytesWritten;
    });
  }

  readonly refused: OnRefusal = ({ kind }) => {
    this.#refusals.inc({ reason: kind });
  };

  certificateUsed(expiresAt: Date): void {
    this.#certificate.set(expiresAt.getTime() / 1000);
  }
}
