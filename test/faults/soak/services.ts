/** Everything that runs in a soak. */
import { copyFileSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { createCertificate } from "../../../packages/gateway/test/support/certificate.ts";
import { findFreePort } from "../../../packages/gateway/test/support/free-port.ts";
import { runChild } from "../../support/child.ts";
import { startPostgres } from "../../support/postgres-server.ts";
import { readPostgresPlants } from "../../support/store-place.ts";
import { readStoredPlants } from "../../support/stored-plants.ts";
import { openCallers } from "../load/caller.ts";
import { createClients, openLoad } from "../load/load.ts";
import { openIssuer } from "./keys.ts";
import { type SoakServer, startSoakServer } from "./server.ts";

export type Services = Awaited<ReturnType<typeof openServices>>;

/** Of each store, each with one request at a time. */
const clientCount = 2;
/** Between two requests of a client: a few plants a second in all, a few percent of a core. */
const pauseMs = 800;
const deadlinesMs = [10_000, 10_000] as const;

export async function openServices(folder: string, seed: number) {
  await using stack = new AsyncDisposableStack();
  mkdirSync(join(folder, "data"), { recursive: true });
  const issuer = stack.use(await openIssuer());
  const opaque = await createToken(folder, "first");
  /** The clients' credentials, changed while they use them. */
  const tokens = { opaque, name: "first", jwt: await issuer.sign() };
  let turn = 0;
  const token = () => (turn++ % 2 === 0 ? tokens.opaque : tokens.jwt);
  const certificate = { certFile: join(folder, "tls.crt"), keyFile: join(folder, "tls.key") };
  renewCertificate(folder, certificate);

  /** @returns starts it, always on the same port. */
  async function prepare(name: string, walBytes: () => number, ...more: string[]) {
    const args = ["--port", `${await findFreePort()}`, "--admin-port", "0", "--access-log", "on"];
    args.push("--token-file", "data/tokens", ...issuer.args, ...more);
    return () => startSoakServer({ name, walBytes, folder, args });
  }

  /** @param index Of the store. */
  function use(index: number, servers: readonly SoakServer[]) {
    const urls = servers.map(({ url }) => url);
    const callers = stack.use(openCallers(urls, token));
    const first = index * clientCount;
    const clients = createClients({ count: clientCount, first, seed, deadlinesMs });
    return { recorder: clients.recorder, load: stack.use(openLoad(clients, callers, pauseMs)) };
  }

  const file = join(folder, "data/plants.db");
  const url = `sqlite:${file}`;
  const tls = ["--tls-cert", certificate.certFile, "--tls-key", certificate.keyFile];
  const sizeOfWal = () => sizeOf(`${file}-wal`);
  const server = stack.use(await (await prepare("SQLite", sizeOfWal, "--store", url, ...tls))());

  const database = stack.use(await startPostgres());
  const plants = await database.createDatabase();
  const postgresUrl = database.url(plants);
  const sizeOfPgWal = () => sizeOf(join(database.data, "pg_wal"));
  const start = (name: string) => prepare(name, sizeOfPgWal, "--store", postgresUrl);
  const first = stack.use(await (await start("PostgreSQL"))());
  const startSecond = await start("PostgreSQL-second");
  const second = await startSecond();

  const sqlite = {
    ...{ name: "SQLite", url, server, ...use(0, [server]) },
    read: async () => readStoredPlants(file),
  };
  /** The second of its servers is drained and restarted; the first stays. */
  const postgres = {
    ...{ name: "PostgreSQL", url: postgresUrl, server: first, second, startSecond, database },
    ...use(1, [first, second]),
    read: () => readPostgresPlants(database, plants),
  };
  stack.defer(() => postgres.second[Symbol.asyncDispose]());
  const owned = stack.move();
  return {
    ...{ folder, sqlite, postgres, issuer, tokens, certificate },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
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
  { certFile, keyFile }: { readonly certFile: string; readonly keyFile: string },
): string {
  const renewed = createCertificate(folder, "renewed");
  copyFileSync(renewed.keyFile, keyFile);
  copyFileSync(renewed.certFile, certFile);
  return renewed.pem;
}

/** In bytes, of a file or of those in a folder. */
function sizeOf(path: string): number {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats?.isDirectory()) return stats?.size ?? 0;
  return readdirSync(path)
    .map((name) => sizeOf(join(path, name)))
    .reduce((sum, size) => sum + size, 0);
}
