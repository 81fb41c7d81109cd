import type { ConnectError } from "@connectrpc/connect";
import { backoffMs } from "./backoff.ts";
import {
  Connection,
  type ConnectionListener,
  type ConnectionOptions,
  connectionError,
} from "./connection.ts";

/** As long a connection must have lived that the next one is made at once. */
const livedMsMin = 1000;

/** Connections to one address, for a server that takes few streams on each. */
const connectionsMax = 16;

export type SubchannelOptions = Omit<ConnectionOptions, "tls"> & {
  /** Called for each connection, so that renewed certificates are used. */
  readonly tls: () => ConnectionOptions["tls"];
  /** Told when a connection that was open takes no more calls. */
  readonly onDisconnect?: () => void;
};

/**
 * Connections to one address. There is always one, or an attempt to make one: at once when
 * one is lost, after a pause when an attempt has failed. There are more where the server takes no
 * more streams on those that are there; attempts to make those have the same pauses.
 */
export class Subchannel {
  readonly #options: SubchannelOptions;
  /** Told when something has changed: whoever waits looks again. */
  readonly #onChange: () => void;
  /** With those that are being made, and those that come to their end. */
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

  /** Why calls cannot go out; undefined while they can, or may soon. */
  get failure(): ConnectError | undefined {
    return this.isOpen ? undefined : this.#failure;
  }

  get isOpen(): boolean {
    for (const { isOpen } of this.#connections) if (isOpen) return true;
    return false;
  }

  /** The connection with the fewest streams; undefined while there is none with room. */
  pick(): Connection | undefined {
    let least: Connection | undefined;
    let openCount = 0;
    for (const one of this.#connections) {
      if (!one.isOpen) continue;
      openCount++;
      if (one.hasRoom && (least === undefined || one.streams < least.streams)) least = one;
    }
    if (least !== undefined || openCount === 0 || openCount >= connectionsMax) return least;
    if (this.#timer === undefined) this.#connect();
    return undefined;
  }

  /** Takes no more calls; those under way come to their end. */
  close(): void {
    this.#isClosed = true;
    this.#endPause();
    for (const one of this.#connections) one.close();
  }

  /** Ends it, and its calls. */
  destroy(): void {
    this.close();
    for (const one of this.#connections) one.destroy();
  }

  /** Makes a connection, unless one is being made. */
  #connect(): void {
    for (const { isConnecting } of this.#connections) if (isConnecting) return;
    const { tls, onDisconnect: _, ...options } = this.#options;
    try {
      this.#connections.add(new Connection({ ...options, tls: tls() }, this.#listener()));
    } catch (error) {
      this.#failed(connectionError(error as Error)); // certificates that cannot be used
    }
  }

  #listener(): ConnectionListener {
    let openedAt: number | undefined;
    return {
      opened: () => {
        openedAt = performance.now();
        this.#failure = undefined;
        this.#onChange();
      },
      vacated: this.#onChange,
      left: (_connection, error) => {
        if (openedAt === undefined) return this.#failed(error);
        this.#options.onDisconnect?.();
        const hasLived = performance.now() - openedAt > livedMsMin;
        this.#failures = hasLived ? 0 : this.#failures + 1;
        if (hasLived) {
          // Of an attempt for another connection, which is no reason to wait now.
          this.#endPause();
          this.#failure = undefined;
        }
        this.#reconnect();
        // For calls that waited for the end of the pause, or for the room of this connection.
        if (!this.#isClosed) this.#onChange();
      },
      closed: (connection) => this.#connections.delete(connection),
    };
  }

  #failed(error: ConnectError): void {
    this.#failures++;
    this.#failure = error;
    this.#reconnect();
    this.#onChange();
  }

  /** After a pause if need be. While there are others, callers say whether one more is needed. */
  #reconnect(): void {
    if (this.#isClosed || this.#timer !== undefined) return;
    if (this.isOpen && this.#failures === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.isOpen) this.#onChange();
      else this.#connect();
    }, backoffMs(this.#failures));
  }

  #endPause(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
