/**
 * Builds the images of deploy/Containerfile as it is, and uses them over every protocol, as their own user:
 * the store, again after a kill, and the proxy before it. The base image stands in for the real one: this
 * machine's shell, npm and libraries, with the checkout's Node. Where buildah and root are to be had.
 */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, readFileSync, realpathSync } from "node:fs";
import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { Code } from "@connectrpc/connect";
import { findFreePort } from "../../packages/gateway/test/support/free-port.ts";
import { createTally } from "../../packages/gateway/test/support/tally.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { Unavailable } from "../../packages/gateway/test/support/tool.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { parseContainerfile } from "../deploy/containerfile.ts";
import { collectOutput } from "../support/output.ts";
import { refusalOf } from "../support/protocol/protocol.ts";
import { protocols } from "../support/protocol/protocols.ts";
import { knownToken } from "../support/test-server.ts";

const run = promisify(execFile);
const containerfile = "deploy/Containerfile";
const imagesUser = 1000;

/** What RUN and npm call, beside Node. */
const commands = ["/bin/sh", "/bin/mkdir", "/usr/bin/env"];

/** As much as npm needs to find its registry. */
const files = ["/etc/passwd", "/etc/ssl/certs/ca-certificates.crt"];

using tally = createTally("container");
await tally.add("deploy/Containerfile", async () => {
  if (process.getuid?.() !== 0) throw new Unavailable("it needs root");
  await run("buildah", ["--version"]).catch(() => {
    throw new Unavailable("there is no buildah");
  });
  await tryContainer();
});

async function tryContainer(): Promise<void> {
  await using folder = await createTemporaryFolder();
  const storage = ["root", "runroot"].flatMap((name) => [`--${name}`, join(folder.path, name)]);
  storage.push("--storage-driver", "vfs");
  const buildah = async (...args: readonly string[]) =>
    (await run("buildah", [...storage, ...args], { maxBuffer: 2 ** 24 })).stdout.trim();
  const base = join(folder.path, "base");
  await fillBase(base);
  const stages = parseContainerfile(readFileSync(containerfile, "utf8"));
  const scratch = await buildah("from", "scratch");
  await buildah("copy", "--quiet", scratch, base, "/");
  for (const [name, value] of await npmSettings()) {
    if (value !== undefined) await buildah("config", "--env", `${name}=${value}`, scratch);
  }
  for (const name of new Set(stages.map(({ image }) => image)))
    await buildah("commit", "--quiet", scratch, name);
  const build = ["build", "--isolation", "chroot", "--pull-never", "--format", "docker"];
  const ignore = ["--ignorefile", `${containerfile}.dockerignore`];
  const open = async (name: string) => {
    await buildah(...build, ...ignore, "-f", containerfile, "--target", name, "-t", name, ".");
    const id = await buildah("from", "--pull-never", name);
    const { OCIv1, Docker } = JSON.parse(await buildah("inspect", id));
    const { Entrypoint, Cmd } = OCIv1.config;
    const health: string[] = Docker.config.Healthcheck.Test.slice(1);
    return (env: Record<string, string>) => {
      const variables = Object.entries(env).flatMap(([key, value]) => ["--env", `${key}=${value}`]);
      const words = [...storage, "run", "--isolation", "chroot", ...variables, id, "--"];
      return {
        start: () => startServer([...words, ...Entrypoint, ...(Cmd ?? [])]),
        /** Runs the HEALTHCHECK. Rejects when it fails. */
        checkHealth: () => run("buildah", [...words, ...health]),
      };
    };
  };

  const openStore = await open("plant-store");
  const openProxy = await open("connect-gateway-proxy");
  const [port, proxyPort] = [`${await findFreePort()}`, `${await findFreePort()}`] as const;
  const [url, proxyUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${proxyPort}`];
  const store = openStore({ PLANT_STORE_PORT: port, PLANT_STORE_TOKENS: knownToken });
  const proxy = openProxy({
    CONNECT_GATEWAY_PORT: proxyPort,
    CONNECT_GATEWAY_UPSTREAM: url,
    CONNECT_GATEWAY_REFLECTION: "on",
  });
  {
    await using server = await store.start();
    await usePlants(url);
    await store.checkHealth();
    await using before = await proxy.start();
    await proxy.checkHealth();
    // The services of a reflection are known soon.
    const signal = AbortSignal.timeout(20_000);
    while ((await fetch(`${proxyUrl}/readyz`, { signal })).status !== 200);
    // Over REST, errors are the gateway's own and not the store's.
    await usePlants(proxyUrl, (name) => !name.startsWith("REST"));
    await stop(before);
    process.kill(server.pid, "SIGKILL");
    await within("the end of the container", server.exited);
  }
  {
    await using server = await store.start();
    // Again, and so found stored.
    await usePlants(url);
    await stop(server);
  }
  // On a read-only root, too: all that its user has written is the store.
  const written = ["-uid", String(imagesUser), "-type", "f", "-not", "-name", "plants.db*"];
  const { stdout } = await run("find", [join(folder.path, "root"), ...written]);
  assert.equal(stdout, "", "files that the servers wrote");
}

async function startServer(words: readonly string[]) {
  const child = spawn("buildah", words, { stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr] = [collectOutput(child.stdout), collectOutput(child.stderr)];
  const exited = once(child, "exit");
  await Promise.any([stderr.until(/"listening"/), stdout.until(/listening on/)]);
  const pid = serverBelow(child.pid ?? 0);
  assert.equal(userOf(pid), imagesUser, "the user of the server");
  return {
    ...{ pid, exited },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) process.kill(pid, "SIGKILL");
      await exited;
    },
  };
}

async function stop({ pid, exited }: { pid: number; exited: Promise<unknown[]> }) {
  process.kill(pid, "SIGTERM");
  const [code] = await within("the end of the container", exited);
  assert.equal(code, 0, "the exit code after SIGTERM");
}

/** A root file system with what the build runs. */
async function fillBase(base: string): Promise<void> {
  const npm = realpathSync((await run("sh", ["-c", "command -v npm"])).stdout.trim());
  await cp(dirname(dirname(npm)), join(base, "usr/lib/node_modules/npm"), { recursive: true });
  const node = join(base, "usr/bin/node");
  const sources = [...commands, ...files.filter((file) => existsSync(file))];
  await mkdir(dirname(node), { recursive: true });
  await cp(process.execPath, node);
  for (const name of ["npm", "npx"]) {
    await symlink(`../lib/node_modules/npm/bin/${name}-cli.js`, join(base, "usr/bin", name));
  }
  const bundler = globSync("node_modules/@rolldown/binding-*/*.node");
  for (const program of [...commands, process.execPath, ...bundler]) {
    const { stdout } = await run("ldd", [program]);
    sources.push(...[...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, file = ""]) => file));
  }
  for (const file of new Set(sources)) {
    await cp(realpathSync(file), join(base, file), { recursive: true });
  }
  await mkdir(join(base, "tmp"), { mode: 0o1777 });
  await writeFile(join(base, "etc/nsswitch.conf"), "hosts: files dns\n");
}

/** What this machine's npm is told about its registry. */
async function npmSettings() {
  const names = ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"];
  return [
    ["npm_config_registry", (await run("npm", ["config", "get", "registry"])).stdout.trim()],
    ...names.map((name) => [name, process.env[name]] as const),
    ["NODE_EXTRA_CA_CERTS", files.find((file) => file.endsWith(".crt") && existsSync(file))],
  ] as const;
}

/** buildah starts itself anew in the container, from any of its threads, and Node below that. */
function serverBelow(pid: number): number {
  const children = globSync(`/proc/${pid}/task/*/children`).flatMap((file) =>
    readFileSync(file, "utf8").split(" ").filter(Boolean).map(Number),
  );
  return children[0] === undefined ? pid : serverBelow(children[0]);
}

function userOf(pid: number): number {
  return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

async function usePlants(url: string, isUsed = (_name: string) => true): Promise<void> {
  for (const [index, { name, open }] of protocols.entries()) {
    if (!isUsed(name)) continue;
    using caller = open(url);
    const plant = { id: BigInt(index), name, tag: "🌱" };
    const created = { ok: { name, tag: "🌱" } };
    assert.deepEqual(await caller.create(plant), created, `${name}: created`);
    assert.deepEqual(await caller.create(plant), created, `${name}: again`);
    const other = refusalOf(await caller.create({ ...plant, tag: "other" }));
    assert.equal(other.code, Code.AlreadyExists, `${name}: taken`);
    const stranger = refusalOf(await caller.create(plant, { authorization: null }));
    assert.equal(stranger.code, Code.Unauthenticated, `${name}: a stranger`);
  }
}
