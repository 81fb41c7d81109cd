import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { chown, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { findFreePort } from "../../packages/gateway/test/support/free-port.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { collectOutput } from "./output.ts";
import { openDatabases, type PostgresDatabases, password } from "./postgres-databases.ts";
import { findPostgres, type PostgresInstallation } from "./postgres-installation.ts";

export const hasPostgres = findPostgres().length > 0;

export type PostgresServer = Awaited<ReturnType<typeof startPostgres>>;

export interface PostgresServerOptions {
  readonly installation?: PostgresInstallation;
  readonly settings?: Readonly<Record<string, string>>;
  /** The contents of files in its data directory, by name. */
  readonly files?: Readonly<Record<string, string | Buffer>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether later servers of this run begin with a copy of its data, which is faster. */
  readonly isTemplate?: boolean;
}

const run = promisify(execFile);
const templateVariable = "PLANT_STORE_TEST_POSTGRES_TEMPLATE";

/** A start after a crash recovers first, and everything takes longer on a busy machine. */
const patienceMs = 60_000;

/** A PostgreSQL server for tests. Removed with its data at the end of an `await using`. */
export async function startPostgres(options: PostgresServerOptions = {}) {
  const installation = options.installation ?? findPostgres()[0];
  if (installation === undefined) throw new Error("there is no PostgreSQL");
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await createTemporaryFolder());
  const firstSettings = options.settings ?? {};
  const identity = await findNobody();
  const data = join(folder.path, "data");
  await mkdir(data, { mode: 0o700 });
  const passwordFile = join(folder.path, "password");
  await writeFile(passwordFile, password, { mode: 0o600 });
  const give = async (path: string) => {
    if (identity !== undefined) await chown(path, identity.uid, identity.gid);
  };
  for (const path of [folder.path, data, passwordFile]) await give(path);
  const programs = installation.prepare(folder.path);
  const spawnOptions = { ...identity, cwd: folder.path, env: { ...options.env, LC_ALL: "C" } };
  const encoding = ["-E", "UTF8", "--locale=C"];
  const access = ["-U", "postgres", "-A", "scram-sha-256", `--pwfile=${passwordFile}`];
  const initdb = ["-D", data, "--no-sync", ...encoding, ...access];
  const template = options.installation === undefined ? process.env[templateVariable] : undefined;
  if (template !== undefined) await run("cp", ["-a", `${template}/.`, data]);
  else await run(join(programs, "initdb"), initdb, spawnOptions);
  if (options.isTemplate) {
    const copy = join(folder.path, "template");
    await run("cp", ["-a", data, copy]);
    process.env[templateVariable] = copy;
  }
  for (const [name, content] of Object.entries(options.files ?? {})) {
    await writeFile(join(data, name), content, { mode: 0o600 });
    await give(join(data, name));
  }

  let port = 0;
  let running: { process: ChildProcess; exited: Promise<unknown> } | undefined;

  async function launch(settings: Readonly<Record<string, string>>): Promise<void> {
    const all = {
      listen_addresses: "127.0.0.1",
      port: String(port),
      unix_socket_directories: "",
      // Each test uses a few; creating a database waits for the checkpoints of others.
      shared_buffers: "16MB",
      max_wal_size: "256MB",
      ...settings,
    };
    const args = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const child = spawn(join(programs, "postgres"), ["-D", data, ...args], {
      ...spawnOptions,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const output = collectOutput(child.stderr);
    const exited = once(child, "close");
    const endWithUs = () => child.kill("SIGQUIT");
    process.once("exit", endWithUs);
    child.once("close", () => process.off("exit", endWithUs));
    await output.until(/ready to accept (read-only )?connections/, patienceMs);
    running = { process: child, exited };
  }

  /**
   * `fast` ends every session cleanly. `immediate` is a crash of all its processes. `kill` is a
   * crash in which its first process takes no part.
   */
  async function stop(how: "fast" | "immediate" | "kill"): Promise<void> {
    if (running === undefined) return;
    const { process: child, exited } = running;
    running = undefined;
    child.kill(({ fast: "SIGINT", immediate: "SIGQUIT", kill: "SIGKILL" } as const)[how]);
    // Every process of the server holds the pipe open, so this waits for all of them.
    await within("the end of postgres", exited, patienceMs);
  }

  // Another process may take the free port before it is used.
  for (let tries = 1; running === undefined; tries++) {
    port = await findFreePort();
    try {
      await launch(firstSettings);
    } catch (error) {
      if (tries === 5) throw error;
    }
  }
  /** To all processes of the server. None goes in between: the first one, which reaps them, is stopped. */
  function signal(name: "SIGSTOP" | "SIGCONT"): void {
    const pid = running?.process.pid;
    if (pid === undefined) throw new Error("there is no server");
    process.kill(pid, "SIGSTOP");
    const isStopped = () => / [TZ] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
    while (!isStopped()); // or ended
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
    for (const one of [...children.filter(Boolean), pid]) process.kill(Number(one), name);
  }

  stack.defer(() => stop("immediate"));

  const params = firstSettings["fsync"] === "off" ? ["allow_unsafe=fsync"] : [];
  const databases = openDatabases(port, params);
  const { query } = databases;
  const owned = stack.move();
  return {
    ...{ ...databases, data, stop, signal },
    /** Changes a server setting. It is in effect when this resolves. */
    async set(name: string, value: string) {
      await query(`ALTER SYSTEM SET ${name} = '${value}'`);
      await query("SELECT pg_reload_conf()");
      // The server rereads its files some time after the signal.
      const current = `SELECT current_setting('${name}') AS value`;
      const look = async () => {
        while ((await query(current))[0]?.["value"] !== value) await delay(10);
      };
      await within(`${name} = ${value}`, look());
      // Whether commits wait for a standby is what the checkpointer has read, at the latest between two.
      if (name === "synchronous_standby_names") await query("CHECKPOINT; CHECKPOINT");
    },
    start: (settings = firstSettings) => launch(settings),
    /**
     * Makes it the standby of another server of the same installation, with the name `standby`. Its
     * data is replaced with a copy of the other's.
     */
    async follow(primary: PostgresDatabases) {
      await stop("immediate");
      await rm(data, { recursive: true });
      const source = `host=127.0.0.1 port=${primary.port} user=postgres`;
      const copy = ["-D", data, "-d", source, "-X", "stream", "-c", "fast", "--no-sync"];
      const env = { ...spawnOptions.env, PGPASSWORD: password };
      await run(join(programs, "pg_basebackup"), copy, { ...spawnOptions, env });
      await writeFile(join(data, "standby.signal"), "");
      await give(join(data, "standby.signal"));
      const login = `${source} password='${password}' application_name=standby`;
      await launch({ ...firstSettings, primary_conninfo: login });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Servers refuse to run as root, so they run as nobody. */
export async function findNobody(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const line = /^nobody:[^:]*:(\d+):(\d+):/m.exec(await readFile("/etc/passwd", "utf8"));
  if (line === null) throw new Error("there is no user nobody to run PostgreSQL as");
  return { uid: Number(line[1]), gid: Number(line[2]) };
}
