import type { Socket } from "node:net";

/**
 * Bounds the open connections. When there are as many as there may be, one that has never sent a
 * whole request makes room for a newcomer, the oldest first: so silent connections, however many,
 * keep nobody out who has something to ask.
 */
export class ConnectionLimit {
  readonly #max: number;
  readonly #open = new Set<Socket>();
  /** Those of them that have sent no whole request, in the order in which they were opened. */
  readonly #silent = new Set<Socket>();

  constructor(max: number) {
    this.#max = max;
  }

  /** @returns whether there is room for the connection, which is counted until it closes. */
  admit(socket: Socket): boolean {
    if (this.#open.size >= this.#max && !this.#makeRoom()) return false;
    this.#open.add(socket);
    this.#silent.add(socket);
    socket.once("close", () => this.#forget(socket));
    return true;
  }

  /** It has sent a whole request, or was answered; from now on it gives way to nobody. */
  keep(socket: Socket): void {
    this.#silent.delete(socket);
  }

  #makeRoom(): boolean {
    const [oldest] = this.#silent;
    if (oldest === undefined) return false;
    this.#forget(oldest); // at once: its close is told later
    oldest.destroy();
    return true;
  }

  #forget(socket: Socket): void {
    this.#open.delete(socket);
    this.#silent.delete(socket);
  }
}
