import type { Socket } from "node:net";
import type { TrafficObserver } from "../server/port.ts";
import type { OnRefusal } from "../server/refusal.ts";
import { add, type MetricsLayout, refusalKinds } from "./layout.ts";

/** Counts connections, their bytes, and what of HTTP is refused before it is a call; notes the certificate. */
export class Traffic implements TrafficObserver {
  readonly #numbers: Float64Array;
  readonly #layout: MetricsLayout;
  readonly #open = new Set<Socket>();
  /** Of connections that are closed. */
  #received: number;
  #sent: number;

  /** @param numbers Those of a thread that has died before are counted on. */
  constructor(numbers: Float64Array, layout: MetricsLayout) {
    this.#numbers = numbers;
    this.#layout = layout;
    this.#received = numbers[layout.receivedBytes] ?? 0;
    this.#sent = numbers[layout.sentBytes] ?? 0;
  }

  opened(socket: Socket): void {
    this.#open.add(socket);
    add(this.#numbers, this.#layout.connectionsOpened, 1);
    add(this.#numbers, this.#layout.connections, 1);
    socket.once("close", () => {
      this.#open.delete(socket);
      add(this.#numbers, this.#layout.connections, -1);
      this.#received += socket.bytesRead;
      this.#sent += socket.bytesWritten;
    });
  }

  readonly refused: OnRefusal = (kind) => {
    add(this.#numbers, this.#layout.refusals + refusalKinds.indexOf(kind), 1);
  };

  certificateUsed(expiresAt: Date): void {
    this.#numbers[this.#layout.certificateExpirySeconds] = expiresAt.getTime() / 1000;
  }

  /** Adds up the bytes of all connections: what costs too much to do for each byte. */
  sample(): void {
    let received = this.#received;
    let sent = this.#sent;
    for (const { bytesRead, bytesWritten } of this.#open) {
      received += bytesRead;
      sent += bytesWritten;
    }
    this.#numbers[this.#layout.receivedBytes] = received;
    this.#numbers[this.#layout.sentBytes] = sent;
  }
}
