import { connect, isIP, Socket } from "node:net";
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

export type Session = Awaited<ReturnType<typeof openSession>>;

/** @throws The error that prevented opening it within the time. Nothing is left open. */
export async function openSession(host: Host, options: SessionOptions) {
  const { address, limits, connectTimeoutMs } = options;
  const { aliveIntervalMs, cancelGraceMs } = limits;
  const tls = tlsOptionsFor(address, host);
  const lost = Promise.withResolvers<void>();
  let isLost = false;
  /** Why it was lost while no statement ran. */
  let reason: Error | undefined;
  let isSilent = false;
  let isUnconfirmed = false;
  /** Until the running statement has ended. */
  let running: Promise<void> | undefined;
  const socket = new Socket();
  const client = new pg.Client({
    host: host.name,
    port: host.port,
    user: address.user,
    // A function, because the driver would look for an empty password in files.
    password: () => address.password,
    database: address.database,
    ssl: tls,
    application_name: "plant-store",
    keepAlive: true,
    keepAliveInitialDelayMillis: limits.keepAliveDelayMs,
    stream: () => socket,
  });
  // Also if it ends. Without a listener, an error on an idle connection would end the process.
  client.on("error", lose);
  client.on("notice", ({ routine }) => {
    // The wait for a standby was interrupted: the commit is only local, but reported as a
    // success. The routine's name is the same in every language.
    if (routine === "SyncRepWaitForLSN") isUnconfirmed = true;
  });
  const timer = setTimeout(() => {
    isSilent = true;
    socket.destroy(Object.assign(new Error("timeout"), { code: "ETIMEDOUT" }));
  }, connectTimeoutMs);
  try {
    await client.connect();
  } catch (error) {
    destroy();
    throw asFailure(error);
  } finally {
    clearTimeout(timer);
  }
  const session = {
    host,
    /** What `@schema@` stands for in statements: the schema of the tables, quoted if necessary. */
    schema: address.schema,
    /** Whether a trigger may skip, change or delete what is inserted, as of the last inspection. */
    hasTriggers: false,
    lost: lost.promise,
    get isOpen() {
      return !isLost;
    },
    /**
     * Runs a statement, by default a short one. Cancels it if it takes too long, and else gives up.
     * @returns After the end of its transaction, unless a transaction was already open.
     * @throws {ConnectionLost} {@link Unconfirmed}, or the server's error.
     */
    async query(
      text: string,
      values: readonly (readonly string[] | string | null)[] = [],
      timeoutMs = limits.connectTimeoutMs,
    ): Promise<readonly Row[]> {
      const config = { text: qualify(text), values: [...values], rowMode: "array" as const };
      // Rows may arrive before COMMIT. The driver waits for ReadyForQuery, which arrives after it.
      return await run(timeoutMs, async () => (await client.query<Row[]>(config)).rows);
    },
    /** Runs statements without parameters, in one transaction unless one was already open. */
    async execute(text: string, timeoutMs: number): Promise<void> {
      await run(timeoutMs, () => client.query(qualify(text)));
    },
    /** Cancels what it runs, or the server would go on. Gives up on a server that does not answer. */
    async close(): Promise<void> {
      setTimeout(destroy, aliveIntervalMs).unref();
      if (running !== undefined) cancel();
      await running;
      await client.end();
    },
    destroy,
  };
  return session;

  /** The `search_path` of a session may change, and behind a pooler others can change it. */
  function qualify(text: string): string {
    const { schema = "" } = session;
    const literal = `E'${schema.replaceAll(/['\\]/g, "$&$&")}`;
    return text.replaceAll(/'?@schema@/g, (found) => (found.startsWith("'") ? literal : schema));
  }

  async function run<T>(timeoutMs: number, work: () => Promise<T>): Promise<T> {
    isUnconfirmed = false;
    const ended = Promise.withResolvers<void>();
    running = ended.promise;
    const watch = setInterval(assertAlive, aliveIntervalMs);
    // Not statement_timeout: behind a pooler, others share the session that it belongs to.
    let timer = setTimeout(() => {
      cancel();
      timer = setTimeout(giveUp, cancelGraceMs);
    }, timeoutMs);
    try {
      const result = await work();
      if (isUnconfirmed) throw new Unconfirmed("a commit did not wait for its standby");
      return result;
    } catch (error) {
      throw error instanceof Unconfirmed ? error : asFailure(error);
    } finally {
      clearTimeout(timer);
      clearInterval(watch);
      running = undefined;
      ended.resolve();
    }
  }

  /** Closes it at once. The server may continue a running statement. */
  function destroy(): void {
    lose(); // the driver reports it later, and until then somebody could acquire it
    socket.destroy();
  }

  function lose(error?: Error): void {
    reason ??= error;
    isLost = true;
    lost.resolve();
  }

  function giveUp(): void {
    isSilent = true;
    destroy();
  }

  /** An error that did not come from the server means that the connection was lost. */
  function asFailure(cause: unknown): unknown {
    if (cause instanceof pg.DatabaseError) return cause;
    const message = `the connection to ${describeHost(host)} was lost`;
    return new ConnectionLost(message, { cause: reason ?? cause, isSilent });
  }

  /**
   * Asks the server to cancel the running statement (protocol 3.0, CancelRequest). Otherwise one
   * that waits for a standby would hold its connection, and each retry one more. Never fails. It may
   * cancel the next statement, which is retried. The server closes: PgBouncer 1.18 ends if we do.
   */
  function cancel(): void {
    const key = client as unknown as { processID: number | null; secretKey: number };
    if (key.processID === null) return;
    const message = Buffer.alloc(16);
    const parts = [16, 80_877_102, key.processID, key.secretKey];
    for (const [index, part] of parts.entries()) message.writeInt32BE(part, 4 * index);
    const plain = connectAgain(cancelGraceMs);
    if (tls === false) {
      plain.resume().write(message);
      return;
    }
    // In plaintext, whoever sees the key could cancel every later statement of the session.
    plain.write(sslRequest);
    // If the answer is no, the handshake fails.
    plain.once("data", () => {
      const { name } = host;
      const servername = isIP(name) === 0 && { servername: name };
      const encrypted = connectTls({ ...tls, socket: plain, host: name, ...servername });
      encrypted.on("error", () => plain.destroy());
      encrypted.resume().write(message);
    });
  }

  /** Closes the connection if its host hangs: a busy one answers whether it speaks TLS. */
  function assertAlive(): void {
    const asking = connectAgain(aliveIntervalMs);
    asking.once("timeout", giveUp);
    asking.once("data", () => asking.destroy());
    asking.write(sslRequest);
  }

  function connectAgain(timeoutMs: number): Socket {
    const { name, port } = host;
    const folder = isSocketFolder(name) && { path: `${name}/.s.PGSQL.${port}` };
    const again = connect(folder || { host: name, port });
    again.on("error", () => again.destroy());
    again.setTimeout(timeoutMs, () => again.destroy());
    again.unref();
    return again;
  }
}
