/** Everything that runs in one piece of a soak. */
import { copyFileSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { createCertificate } from "../../../packages/gateway/test/support/certificate.ts";
import { runChild } from "../../support/child.ts";
import { findFreePort } from "../../support/free-port.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres-server.ts";
import { readPostgresPlants } from "../../support/store-place.ts";
import { readStoredPlants, type StoredPlant } from "../../support/stored-plants.ts";
import { Recorder } from "../history/recorder.ts";
import { type Caller, openCallers } from "../load/caller.ts";
import { appendRequest, readRequests } from "./journal.ts";
import { type Issuer, openIssuer } from "./keys.ts";
import { SoakServer, type SoakServerOptions } from "./server.ts";

/** One store, with its clients. */
export interface SoakStore {
  readonly name: string;
  readonly recorder: Recorder;
  readonly callers: readonly Caller[];
  /** For the campaign's own reads. */
  readonly read: () => Promise<readonly StoredPlant[]>;
  /** For checking the engine's files. */
  readonly url: string;
}

export interface Services extends AsyncDisposable {
  readonly folder: string;
  readonly sqlite: SoakStore & { readonly server: SoakServer; readonly database: string };
  /** The second of its servers is drained and restarted; the first stays. */
  readonly postgres: SoakStore & {
    readonly server: SoakServer;
    second: SoakServer;
    readonly startSecond: () => Promise<SoakServer>;
    readonly database: PostgresServer;
  };
  readonly issuer: Issuer;
  /** The clients' credentials, changed while they use them. */
  readonly tokens: { opaque: string; jwt: string; readonly names: string[] };
  /** The requests of clients. */
  readonly underWay: Set<Promise<unknown>>;
  readonly certificate: { readonly certFile: string; readonly keyFile: string };
}

/**
 * @param folder The directory of all pieces. Its SQLite store is kept; PostgreSQL is new for each
 * piece.
 */
export async function openServices(folder: string, piece: number): Promise<Services> {
  const stack = new AsyncDisposableStack();
  try {
    const data = join(folder, "data");
    mkdirSync(data, { recursive: true });
    const issuer = stack.use(await openIssuer());
    const name = `piece-${piece}`;
    const opaque = await createToken(folder, name);
    const tokens = { opaque, names: [name], jwt: await issuer.sign() };
    const certificate = { certFile: join(folder, "tls.crt"), keyFile: join(folder, "tls.key") };
    renewCertificate(folder, certificate);
    const common = ["--token-file", "data/tokens", "--admin-port", "0", ...issuer.args];
    const tls = ["--tls-cert", certificate.certFile, "--tls-key", certificate.keyFile];

    async function start(options: Pick<SoakServerOptions, "name" | "walBytes">, args: string[]) {
      const port = `${await findFreePort()}`;
      const whole = { ...options, folder, env: {}, args: ["--port", port, ...args, ...common] };
      return () => SoakServer.start(whole);
    }

    const database = join(data, "plants.db");
    const walBytes = () => sizeOf(`${database}-wal`);
    const sqliteUrl = `sqlite:${database}`;
    const startSqlite = await start({ name: "SQLite", walBytes }, [
      ...["--store", sqliteUrl, "--access-log", "on"],
      ...tls,
    ]);
    const sqlite = stack.use(await startSqlite());

    const server = stack.use(await startPostgres());
    const plants = await server.createDatabase();
    const wal = { walBytes: () => folderSize(join(server.data, "pg_wal")) };
    const args = ["--store", server.url(plants), "--access-log", "on"];
    const startFirst = await start({ name: "PostgreSQL", ...wal }, args);
    const startSecond = await start({ name: "PostgreSQL-second", ...wal }, args);
    const first = stack.use(await startFirst());
    const second = await startSecond();

    let turn = 0;
    const token = () => (turn++ % 2 === 0 ? tokens.opaque : tokens.jwt);
    const callersOf = (...urls: string[]) => stack.use(openCallers(urls, { token }));
    const journal = join(folder, "requests.ndjson");
    const earlier = readRequests(journal);
    const recorder = new Recorder((request) => appendRequest(journal, request));
    recorder.adopt(earlier);
    const services: Services = {
      folder,
      sqlite: {
        name: "SQLite",
        server: sqlite,
        database,
        recorder,
        callers: callersOf(sqlite.url),
        read: async () => readStoredPlants(database),
        url: sqliteUrl,
      },
      postgres: {
        name: "PostgreSQL",
        server: first,
        second,
        startSecond,
        database: server,
        recorder: new Recorder(),
        callers: callersOf(first.url, second.url),
        read: () => readPostgresPlants(server, plants),
        url: server.url(plants),
      },
      issuer,
      tokens,
      certificate,
      underWay: new Set(),
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
    stack.defer(() => services.postgres.second[Symbol.asyncDispose]());
    return services;
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

export async function createToken(folder: string, name: string): Promise<string> {
  const args = ["token", "create", name, "--token-file", "data/tokens"];
  const { code, stdout, stderr } = await runChild(args, { cwd: folder });
  const [token] = /\bplst_[\w-]{43}/.exec(stdout) ?? [];
  if (code !== 0 || token === undefined) throw new Error(`token create: ${stderr}`);
  return token;
}

/** With the same file names, like an ACME client. @returns the new certificate in PEM. */
export function renewCertificate(
  folder: string,
  { certFile, keyFile }: Services["certificate"],
): string {
  const renewed = createCertificate(folder, "renewed");
  copyFileSync(renewed.keyFile, keyFile);
  copyFileSync(renewed.certFile, certFile);
  return renewed.pem;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function folderSize(path: string): number {
  return readdirSync(path)
    .map((name) => sizeOf(join(path, name)))
    .reduce((sum, size) => sum + size, 0);
}
