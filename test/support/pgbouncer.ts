import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chown, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { findFreePort } from "../../packages/gateway/test/support/free-port.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { collectOutput } from "./output.ts";
import { password } from "./postgres-databases.ts";
import { findNobody } from "./postgres-server.ts";

export const poolModes = ["session", "transaction"] as const;

/** Debian installs it outside the PATH of users. */
const program = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"]
  .map((folder) => join(folder, "pgbouncer"))
  .find((file) => existsSync(file));

export const hasPgbouncer = program !== undefined;

/** A pooler for a server. Accepts everyone that the server accepts. */
export async function startPgbouncer(serverPort: number, mode: string) {
  if (program === undefined) throw new Error("there is no PgBouncer");
  await using stack = new AsyncDisposableStack();
  const cwd = stack.use(await createTemporaryFolder()).path;
  const port = await findFreePort();
  const users = join(cwd, "users");
  const settings = join(cwd, "pgbouncer.ini");
  await writeFile(users, `"postgres" "${password}"\n`);
  await writeFile(
    settings,
    `[databases]
* = host=127.0.0.1 port=${serverPort} auth_user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = ${mode}
default_pool_size = 20
max_db_connections = 60
server_login_retry = 0.1
max_client_conn = 1000
`,
  );
  const identity = await findNobody();
  if (identity !== undefined) {
    for (const path of [cwd, users, settings]) await chown(path, identity.uid, identity.gid);
  }
  const child = spawn(program, [settings], {
    ...{ ...identity, cwd },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = once(child, "close");
  stack.defer(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  await collectOutput(child.stderr).until(/process up/);
  const owned = stack.move();
  return { port, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
