import { connect, type NetConnectOpts, Socket } from "node:net";
import pg from "pg";
import {
  describeHost,
  type Host,
  isSocketFolder,
  type PostgresAddress,
  tlsOptionsFor,
} from "./address.ts";
import { ConnectionLost, Unconfirmed } from "./failure.ts";
import type { PostgresLimits } from "./limits.ts";

export type Row = readonly unknown[];

/** One connection to one host. */
export class Session {
  readonly host: Host;
  readonly #client: pg.Client;
  readonly #socket: Socket;
  readonly #cancelGraceMs: number;
  readonly #lost = Promise.withResolvers<void>();
  #isLost = false;
  #isUnconfirmed = false;

  private constructor(host: Host, client: pg.Client, socket: Socket, cancelGraceMs: number) {
    this.host = host;
    this.#client = client;
    this.#socket = socket;
    this.#cancelGraceMs = cancelGraceMs;
    const lose = () => {
      this.#isLost = true;
      this.#lost.resolve();
    };
    // Without a listener, an error of a connection that rests would end the process.
    client.on("error", lose);
    client.on("end", lose);
    client.on("notice", ({ routine }) => {
      // The wait for a standby was broken off: the commit is local, and reported
      // as a success. The routine's name is the one mark that no language changes.
      if (routine === "SyncRepWaitForLSN") this.#isUnconfirmed = true;
    });
  }

  /** @throws Whatever kept it from being opened, within the time; nothing is left open. */
  static async open(
    address: PostgresAddress,
    host: Host,
    { connectTimeoutMs, keepAliveDelayMs, cancelGraceMs }: PostgresLimits,
  ): Promise<Session> {
    const socket = new Socket();
    const client = new pg.Client({
      host: host.name,
      port: host.port,
      user: address.user,
      // A function, because the driver would look for an empty one in files.
      password: () => address.password,
      database: address.database,
      ssl: tlsOptionsFor(address, host),
      client_encoding: "UTF8",
      application_name: "plant-store",
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveDelayMs,
      stream: () => socket,
    });
    const session = new Session(host, client, socket, cancelGraceMs);
    const timer = setTimeout(() => socket.destroy(new Error("timeout")), connectTimeoutMs);
    try {
      await client.connect();
      return session;
    } catch (error) {
      session.destroy();
      throw asFailure(error, host);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Whether the connection is there, as far as is known. */
  get isOpen(): boolean {
    return !this.#isLost;
  }

  /** Resolves when the connection is gone, for whatever reason. */
  get lost(): Promise<void> {
    return this.#lost.promise;
  }

  /**
   * Runs a statement. When it takes too long, it is cancelled; when even that has
   * no answer, the connection is given up.
   *
   * @returns After the end of its transaction, unless one was begun before.
   * @throws {ConnectionLost} {@link Unconfirmed}, or the server's error.
   */
  async query(
    text: string,
    values: readonly (readonly string[] | string | null)[],
    timeoutMs: number,
  ): Promise<readonly Row[]> {
    const config = { text, values: [...values], rowMode: "array" as const };
    // Rows and the command's name may come before COMMIT; the driver waits for
    // ReadyForQuery, which comes after it.
    return await this.#run(timeoutMs, async () => (await this.#client.query<Row[]>(config)).rows);
  }

  /** Runs statements without parameters, in one transaction unless one was begun before. */
  async execute(text: string, timeoutMs: number): Promise<void> {
    await this.#run(timeoutMs, () => this.#client.query(text));
  }

  async #run<T>(timeoutMs: number, work: () => Promise<T>): Promise<T> {
    this.#isUnconfirmed = false;
    // A statement_timeout would be the session's, and behind a pooler that is another's, too.
    let timer = setTimeout(() => {
      this.#cancel(this.#cancelGraceMs);
      timer = setTimeout(() => this.destroy(), this.#cancelGraceMs);
    }, timeoutMs);
    try {
      const result = await work();
      if (this.#isUnconfirmed) throw new Unconfirmed("a commit did not wait for its standby");
      return result;
    } catch (error) {
      throw error instanceof Unconfirmed ? error : asFailure(error, this.host);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends it in order. Only while no statement is under way. */
  async close(timeoutMs: number): Promise<void> {
    const timer = setTimeout(() => this.destroy(), timeoutMs);
    try {
      await this.#client.end();
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends it at once. The server may go on with a statement that is under way. */
  destroy(): void {
    this.#isLost = true;
    this.#socket.destroy();
    this.#lost.resolve();
  }

  /**
   * Asks the server to end the statement under way (protocol 3.0, CancelRequest):
   * otherwise one that waits for a standby would hold its connection for ever,
   * and each new try one more. It never fails, and it may be in vain, or meet the
   * next statement, which is then tried again.
   */
  #cancel(timeoutMs: number): void {
    const { processID, secretKey } = this.#client as pg.Client & Record<string, unknown>;
    if (typeof processID !== "number" || typeof secretKey !== "number") return;
    const message = Buffer.alloc(16);
    message.writeInt32BE(16, 0);
    message.writeInt32BE(80_877_102, 4);
    message.writeInt32BE(processID, 8);
    message.writeInt32BE(secretKey, 12);
    const socket = connect(connectOptions(this.host));
    socket.on("error", () => socket.destroy());
    socket.setTimeout(timeoutMs, () => socket.destroy());
    socket.unref();
    socket.end(message);
  }
}

function connectOptions({ name, port }: Host): NetConnectOpts {
  return isSocketFolder(name) ? { path: `${name}/.s.PGSQL.${port}` } : { host: name, port };
}

/** What did not come from the server is a loss of the connection to it. */
function asFailure(error: unknown, host: Host): unknown {
  if (error instanceof pg.DatabaseError) return error;
  return new ConnectionLost(`the connection to ${describeHost(host)} was lost`, { cause: error });
}
