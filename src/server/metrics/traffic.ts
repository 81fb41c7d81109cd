import type { Socket } from "node:net";
import type { OnRefusal, TrafficObserver } from "connect-gateway/server";
import { add, places, refusalKinds } from "./layout.ts";

/** Counts connections, their bytes, and what of HTTP is refused before it is a call. */
export class Traffic implements TrafficObserver {
  readonly #numbers: Float64Array;
  readonly #open = new Set<Socket>();
  /** Of connections that are closed. */
  #received: number;
  #sent: number;

  /** @param numbers Those of a thread that has died before are counted on. */
  constructor(numbers: Float64Array) {
    this.#numbers = numbers;
    this.#received = numbers[places.receivedBytes] ?? 0;
    this.#sent = numbers[places.sentBytes] ?? 0;
  }

  opened(socket: Socket): void {
    this.#open.add(socket);
    add(this.#numbers, places.connectionsOpened, 1);
    add(this.#numbers, places.connections, 1);
    socket.once("close", () => {
      this.#open.delete(socket);
      add(this.#numbers, places.connections, -1);
      this.#received += socket.bytesRead;
      this.#sent += socket.bytesWritten;
    });
  }

  readonly refused: OnRefusal = (kind) => {
    add(this.#numbers, places.refusals + refusalKinds.indexOf(kind), 1);
  };

  /** Adds up the bytes of all connections: what costs too much to do for each byte. */
  sample(): void {
    let received = this.#received;
    let sent = this.#sent;
    for (const { bytesRead, bytesWritten } of this.#open) {
      received += bytesRead;
      sent += bytesWritten;
    }
    this.#numbers[places.receivedBytes] = received;
    this.#numbers[places.sentBytes] = sent;
  }
}
