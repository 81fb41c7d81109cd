import { connect, isIP, type NetConnectOpts, Socket } from "node:net";
import { connect as connectTls } from "node:tls";
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

/** Asks whether the server speaks TLS (protocol 3.0). It answers with one byte. */
const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

export interface SessionOptions {
  readonly address: PostgresAddress;
  readonly limits: PostgresLimits;
  /** How long opening it may take. */
  readonly connectTimeoutMs: number;
}

export class Session {
  readonly host: Host;
  /** What `@schema@` stands for in statements: the schema of the tables, quoted if necessary. */
  schema: string | undefined;
  /** Whether a trigger may skip, change or delete what is inserted, as of the last inspection. */
  hasTriggers = false;
  readonly #client: pg.Client;
  readonly #socket: Socket;
  readonly #limits: PostgresLimits;
  readonly #tls: ReturnType<typeof tlsOptionsFor>;
  readonly #lost = Promise.withResolvers<void>();
  #isLost = false;
  #isSilent = false;
  #isUnconfirmed = false;
  /** Until the running statement has ended. */
  #running: Promise<void> | undefined;

  private constructor(
    address: PostgresAddress,
    host: Host,
    { client, socket, limits }: { client: pg.Client; socket: Socket; limits: PostgresLimits },
  ) {
    this.#tls = tlsOptionsFor(address, host);
    this.host = host;
    this.schema = address.schema;
    this.#client = client;
    this.#socket = socket;
    this.#limits = limits;
    // Also if it ends. Without a listener, an error on an idle connection would end the process.
    client.on("error", () => this.#lose());
    client.on("notice", ({ routine }) => {
      // The wait for a standby was interrupted: the commit is only local, but reported as a
      // success. The routine's name is the same in every language.
      if (routine === "SyncRepWaitForLSN") this.#isUnconfirmed = true;
    });
  }

  /** @throws The error that prevented opening it within the time. Nothing is left open. */
  static async open(host: Host, options: SessionOptions): Promise<Session> {
    const { address, limits, connectTimeoutMs } = options;
    const socket = new Socket();
    const client = new pg.Client({
      host: host.name,
      port: host.port,
      user: address.user,
      // A function, because the driver would look for an empty password in files.
      password: () => address.password,
      database: address.database,
      ssl: tlsOptionsFor(address, host),
      application_name: "plant-store",
      keepAlive: true,
      keepAliveInitialDelayMillis: limits.keepAliveDelayMs,
      stream: () => socket,
    });
    const session = new Session(address, host, { client, socket, limits });
    const timer = setTimeout(() => {
      session.#isSilent = true;
      socket.destroy(new Error("timeout"));
    }, connectTimeoutMs);
    try {
      await client.connect();
      return session;
    } catch (error) {
      session.destroy();
      throw session.#asFailure(error);
    } finally {
      clearTimeout(timer);
    }
  }

  get isOpen(): boolean {
    return !this.#isLost;
  }

  get lost(): Promise<void> {
    return this.#lost.promise;
  }

  /**
   * Runs a statement, by default a short one. Cancels it if it takes too long, and else gives up.
   *
   * @returns After the end of its transaction, unless a transaction was already open.
   * @throws {ConnectionLost} {@link Unconfirmed}, or the server's error.
   */
  async query(
    text: string,
    values: readonly (readonly string[] | string | null)[] = [],
    timeoutMs = this.#limits.connectTimeoutMs,
  ): Promise<readonly Row[]> {
    const config = { text: this.#qualify(text), values: [...values], rowMode: "array" as const };
    // Rows may arrive before COMMIT. The driver waits for ReadyForQuery, which arrives after it.
    return await this.#run(timeoutMs, async () => (await this.#client.query<Row[]>(config)).rows);
  }

  /** Runs statements without parameters, in one transaction unless one was already open. */
  async execute(text: string, timeoutMs: number): Promise<void> {
    await this.#run(timeoutMs, () => this.#client.query(this.#qualify(text)));
  }

  /** The `search_path` of a session may change, and behind a pooler others can change it. */
  #qualify(text: string): string {
    const { schema = "" } = this;
    const literal = `E'${schema.replaceAll(/['\\]/g, "$&$&")}`;
    return text.replaceAll(/'?@schema@/g, (found) => (found.startsWith("'") ? literal : schema));
  }

  async #run<T>(timeoutMs: number, work: () => Promise<T>): Promise<T> {
    this.#isUnconfirmed = false;
    const running = Promise.withResolvers<void>();
    this.#running = running.promise;
    const watch = setInterval(() => this.#assertAlive(), this.#limits.aliveIntervalMs);
    // Not statement_timeout: behind a pooler, others share the session that it belongs to.
    let timer = setTimeout(() => {
      this.#cancel();
      timer = setTimeout(() => this.#giveUp(), this.#limits.cancelGraceMs);
    }, timeoutMs);
    try {
      const result = await work();
      if (this.#isUnconfirmed) throw new Unconfirmed("a commit did not wait for its standby");
      return result;
    } catch (error) {
      throw error instanceof Unconfirmed ? error : this.#asFailure(error);
    } finally {
      clearTimeout(timer);
      clearInterval(watch);
      this.#running = undefined;
      running.resolve();
    }
  }

  /** Cancels what it runs, or the server would go on. Gives up on a server that does not answer. */
  async close(): Promise<void> {
    setTimeout(() => this.destroy(), this.#limits.aliveIntervalMs).unref();
    if (this.#running !== undefined) this.#cancel();
    await this.#running;
    await this.#client.end();
  }

  /** Closes it at once. The server may continue a running statement. */
  destroy(): void {
    this.#lose(); // the driver reports it later, and until then somebody could acquire it
    this.#socket.destroy();
  }

  #lose(): void {
    this.#isLost = true;
    this.#lost.resolve();
  }

  #giveUp(): void {
    this.#isSilent = true;
    this.destroy();
  }

  /** An error that did not come from the server means that the connection was lost. */
  #asFailure(cause: unknown): unknown {
    if (cause instanceof pg.DatabaseError) return cause;
    const message = `the connection to ${describeHost(this.host)} was lost`;
    return new ConnectionLost(message, { cause, isSilent: this.#isSilent });
  }

  /**
   * Asks the server to cancel the running statement (protocol 3.0, CancelRequest). Otherwise one
   * that waits for a standby would hold its connection forever, and each retry one more. Never
   * fails. It may have no effect, or cancel the next statement, which is then retried.
   */
  #cancel(): void {
    const key = this.#client as unknown as { processID: number | null; secretKey: number };
    if (key.processID === null) return;
    const message = Buffer.alloc(16);
    message.writeInt32BE(16, 0);
    message.writeInt32BE(80_877_102, 4);
    message.writeInt32BE(key.processID, 8);
    message.writeInt32BE(key.secretKey, 12);
    const socket = this.#connectAgain(this.#limits.cancelGraceMs);
    const tls = this.#tls;
    if (tls === false) {
      socket.end(message);
      return;
    }
    // In plaintext, whoever sees the key could cancel every later statement of the session.
    socket.write(sslRequest);
    // If the answer is no, the handshake fails.
    socket.once("data", () => {
      const { name } = this.host;
      const encrypted = connectTls({
        ...tls,
        socket,
        host: name,
        ...(isIP(name) === 0 && { servername: name }),
      });
      encrypted.on("error", () => socket.destroy());
      encrypted.end(message);
    });
  }

  /** Closes the connection if its host hangs: a busy one answers whether it speaks TLS. */
  #assertAlive(): void {
    const socket = this.#connectAgain(this.#limits.aliveIntervalMs);
    socket.once("timeout", () => this.#giveUp());
    socket.once("data", () => socket.destroy());
    socket.write(sslRequest);
  }

  #connectAgain(timeoutMs: number): Socket {
    const socket = connect(connectOptions(this.host));
    socket.on("error", () => socket.destroy());
    socket.setTimeout(timeoutMs, () => socket.destroy());
    socket.unref();
    return socket;
  }
}

function connectOptions({ name, port }: Host): NetConnectOpts {
  return isSocketFolder(name) ? { path: `${name}/.s.PGSQL.${port}` } : { host: name, port };
}
