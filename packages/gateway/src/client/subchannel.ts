import type { ConnectError } from "@connectrpc/connect";
import { Connection, type ConnectionOptions, connectionError } from "./connection.ts";

/** A connection that lived this long, or has answered, is replaced without a pause. */
const livedMsMin = 1000;

/** Connections to one address, for servers that take few streams on each. */
const connectionsMax = 16;

export type SubchannelOptions = Omit<ConnectionOptions, "tls"> & {
  /** Called for each connection, so that renewed certificates are used. */
  readonly tls: () => ConnectionOptions["tls"];
  readonly onDisconnect?: () => void;
};

/**
 * Connections to one address. There is always one, or an attempt to open one: at once after a loss,
 * with a pause after a failed attempt, which runs to its end. More are opened, with the same pauses,
 * when the server takes no more streams on those that exist.
 */
export class Subchannel {
  readonly #options: SubchannelOptions;
  /** Called when something has changed, so that waiting calls look again. */
  readonly #onChange: () => void;
  /** Including those that are opening or closing. */
  readonly #connections = new Set<Connection>();
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #failure: ConnectError | undefined;
  #isClosed = false;

  constructor(options: SubchannelOptions, onChange: () => void) {
    this.#options = options;
    this.#onChange = onChange;
    this.#connect();
  }

  /** Why calls cannot be sent; undefined while they can, or soon may. */
  get failure(): ConnectError | undefined {
    return this.isOpen ? undefined : this.#failure;
  }

  get isEmpty(): boolean {
    return this.#connections.size === 0;
  }

  get isOpen(): boolean {
    return this.#connections.values().some(({ isOpen }) => isOpen);
  }

  pick(): Connection | undefined {
    let least: Connection | undefined;
    let openCount = 0;
    for (const one of this.#connections) {
      if (!one.isOpen) continue;
      openCount++;
      if (one.hasRoom && (least === undefined || one.streams < least.streams)) least = one;
    }
    // If none is open, a lost one may not have been reported yet: it is replaced after a pause.
    if (least !== undefined || openCount === 0 || openCount >= connectionsMax) return least;
    if (this.#timer === undefined) this.#connect();
    return undefined;
  }

  /** Takes no more calls. Those in progress go on. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const one of this.#connections) one.close();
  }

  destroy(): void {
    this.close();
    for (const one of this.#connections) one.destroy();
  }

  #connect(): void {
    for (const { isConnecting } of this.#connections) if (isConnecting) return;
    const { tls, onDisconnect, ...options } = this.#options;
    let openedAt: number | undefined;
    const opened = () => {
      openedAt = performance.now();
      this.#failure = undefined;
      this.#onChange();
    };
    const left = (error: ConnectError, hasAnswered: boolean) => {
      if (openedAt === undefined) return this.#failed(error);
      onDisconnect?.();
      const hasLived = hasAnswered || performance.now() - openedAt > livedMsMin;
      this.#failures = hasLived ? 0 : this.#failures + 1;
      if (hasLived) this.#failure = undefined;
      this.#reconnect();
      // For calls that waited for the pause to end, or for room on this connection.
      if (!this.#isClosed) this.#onChange();
    };
    const closed = (connection: Connection) => this.#connections.delete(connection);
    const listener = { opened, vacated: this.#onChange, left, closed };
    try {
      this.#connections.add(new Connection({ ...options, tls: tls() }, listener));
    } catch (error) {
      this.#failed(connectionError(error as Error)); // certificates that cannot be used
    }
  }

  #failed(error: ConnectError): void {
    this.#failures++;
    this.#failure = error;
    this.#reconnect();
    this.#onChange();
  }

  /** Opens a connection, after a pause if the last attempts failed. If others are open, calls decide. */
  #reconnect(): void {
    if (this.#isClosed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.isOpen) this.#onChange();
      else this.#connect();
    }, backoffMs(this.#failures));
  }
}

/** Of a server that restarts. Random, so that its clients do not return together. */
export function backoffMs(failures: number): number {
  if (failures === 0) return 0;
  return Math.min(50 * 2 ** (failures - 1), 500) * (0.6 + Math.random() * 0.4);
}
