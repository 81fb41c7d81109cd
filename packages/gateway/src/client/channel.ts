import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import type { CallDeadline } from "./call-deadline.ts";
import { type Connection, connectionError } from "./connection.ts";
import { unbracketed } from "./guarded-socket.ts";
import { backoffMs, Subchannel, type SubchannelOptions } from "./subchannel.ts";

const addressesMax = 64;

/** How long addresses of a name are used, and how often they are looked up while connections fail. */
const resolveAgainMs = { idle: 30_000, failing: 1000 } as const;

/** Connections to all addresses of a server's name. Calls use them in turn. */
export class Channel {
  readonly #options: Omit<SubchannelOptions, "address">;
  readonly #host: string;
  readonly #subchannels = new Map<string, Subchannel>();
  #turn: readonly Subchannel[] = [];
  /** Those of addresses that are gone, until their calls are over. */
  readonly #left = new Set<Subchannel>();
  readonly #waiting = new Set<Pick<PromiseWithResolvers<Connection>, "resolve" | "reject">>();
  #turns = 0;
  #resolvedAt = Number.NEGATIVE_INFINITY;
  #isResolving = false;
  #failures = 0;
  #failure: ConnectError | undefined;
  #isClosed = false;

  constructor(options: Omit<SubchannelOptions, "address">) {
    this.#options = options;
    this.#host = unbracketed(new URL(options.origin).hostname);
  }

  /** A connection with a reserved place, at once if there is one. @throws {ConnectError} if there will be none. */
  acquire(deadline: CallDeadline): Connection | Promise<Connection> {
    this.#resolveAgain();
    const connection = this.#pick();
    if (connection !== undefined) return connection;
    const failure = this.#findFailure();
    if (failure !== undefined) throw failure;
    const waiter = Promise.withResolvers<Connection>();
    this.#waiting.add(waiter);
    // Calls that have ended must not pile up while a server is busy for hours.
    deadline.onEnd = (error) => {
      this.#waiting.delete(waiter);
      waiter.reject(error);
    };
    return waiter.promise;
  }

  close(): void {
    this.#isClosed = true;
    for (const one of [...this.#turn, ...this.#left]) one.destroy();
    this.#turn = [];
    this.#tell();
  }

  #pick(): Connection | undefined {
    const { length } = this.#turn;
    let picked: Connection | undefined;
    for (let i = 0; i < length; i++) {
      this.#turns = (this.#turns + 1) % length;
      const connection = this.#turn[this.#turns]?.pick();
      if (connection === undefined) continue;
      // A server that hangs would hold each of its calls until it counts as lost.
      const isLast = length > 1 && connection.isQuiet();
      if (!isLast || picked === undefined) picked = connection;
      if (!isLast) break;
    }
    picked?.reserve();
    return picked;
  }

  /** Why no call can be sent; undefined while one can, or soon may. */
  #findFailure(): ConnectError | undefined {
    if (this.#isClosed) return connectionError(undefined);
    let last = this.#failure;
    for (const { failure } of this.#turn) {
      if (failure === undefined) return undefined;
      last = failure;
    }
    return last && connectionError(last.cause as Error | undefined);
  }

  readonly #tell = () => {
    if (this.#turn.length > 0) this.#resolveAgain();
    for (const waiter of this.#waiting) {
      const connection = this.#pick();
      const failure = connection ?? this.#findFailure();
      if (failure === undefined) return;
      this.#waiting.delete(waiter);
      if (connection !== undefined) waiter.resolve(connection);
      else waiter.reject(failure);
    }
  };

  #resolveAgain(): void {
    if (this.#isResolving || this.#isClosed) return;
    const isFailing = this.#turn.some(({ failure }) => failure !== undefined);
    const pause = isFailing ? resolveAgainMs.failing : resolveAgainMs.idle;
    const age = performance.now() - this.#resolvedAt;
    if (age > (this.#turn.length === 0 ? backoffMs(this.#failures) : pause)) void this.#resolve();
  }

  async #resolve(): Promise<void> {
    this.#resolvedAt = performance.now();
    this.#isResolving = true;
    try {
      const { socketPath } = this.#options;
      this.#use(socketPath === undefined ? await addressesOf(this.#host) : [socketPath]);
      this.#failures = 0;
      this.#failure = undefined;
    } catch (error) {
      this.#failures++;
      this.#failure = connectionError(error as Error);
    }
    this.#isResolving = false;
    this.#tell();
  }

  #use(addresses: readonly string[]): void {
    if (this.#isClosed) return;
    for (const one of this.#left) if (one.isEmpty) this.#left.delete(one);
    const gone = [...this.#subchannels].filter(([address]) => !addresses.includes(address));
    for (const [address] of gone) this.#subchannels.delete(address);
    for (const address of addresses) {
      if (this.#subchannels.has(address)) continue;
      this.#subchannels.set(address, new Subchannel({ ...this.#options, address }, this.#tell));
    }
    this.#turn = [...this.#subchannels.values()];
    // Last: a call that waits for one of them now waits for the others.
    for (const [, subchannel] of gone) {
      this.#left.add(subchannel);
      subchannel.close();
    }
  }
}

async function addressesOf(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  const found = await lookup(host, { all: true });
  if (found.length === 0) throw new ConnectError(`${host} has no address`, Code.Unavailable);
  return [...new Set(found.map(({ address }) => address))].slice(0, addressesMax);
}
