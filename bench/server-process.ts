import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Start } from "./program.ts";

/** A running server, on the cores of servers. */
export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /**
   * The size of the heap in bytes after a garbage collection. Only for a server started with a
   * probe.
   */
  heapBytes(): Promise<number>;
  /** Stops it as an operator would. @throws if it fails. */
  stop(): Promise<void>;
}

export interface StartOptions {
  /** Lets the server report its heap. */
  readonly probe?: boolean;
}

const probe = fileURLToPath(new URL("servers/memory-probe.ts", import.meta.url));

const startTimeoutMs = 20_000;

/** How much of a server's log is kept, to be shown if it fails. */
const logCharactersMax = 4000;

/** Ended before this process exits. */
const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Starts a server. Resolves when it prints its address. */
export async function startServer(
  { command = process.execPath, args, env }: Start,
  options: StartOptions = {},
): Promise<ServerProcess> {
  const nodeArgs = options.probe ? ["--expose-gc", "--import", probe] : [];
  const child = spawn(command, [...nodeArgs, ...args], {
    env: { ...environment(), ...env },
    stdio: ["ignore", "pipe", "pipe", ...(options.probe ? (["ipc"] as const) : [])],
  });
  const exited = once(child, "exit");
  running.add(child);
  child.once("exit", () => running.delete(child));
  let log = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    log = (log + chunk).slice(-logCharactersMax);
  });
  async function end(signal: NodeJS.Signals): Promise<unknown> {
    child.kill(signal);
    const [code, endedBy] = await exited;
    return code ?? endedBy;
  }
  return {
    url: await Promise.race([listeningUrl(child), failure(child, exited, () => log)]),
    pid: child.pid ?? 0,
    async heapBytes() {
      const told = once(child, "message");
      child.send("heap");
      const [bytes] = await told;
      return Number(bytes);
    },
    async stop() {
      const outcome = await end("SIGTERM");
      // The peers do not handle the signal.
      if (outcome !== 0 && outcome !== "SIGTERM") {
        throw new Error(`the server ended with ${outcome}: ${log}`);
      }
    },
    async [Symbol.asyncDispose]() {
      await end("SIGKILL");
    },
  };
}

/** As in production, without settings from this shell or npm. */
function environment(): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter(
    (name) => !/^(PLANT_STORE_|npm_|NODE_OPTIONS$)/.test(name),
  );
  const kept = Object.fromEntries(names.map((name) => [name, process.env[name]]));
  return { ...kept, NODE_ENV: "production" };
}

function listeningUrl(child: ChildProcess): Promise<string> {
  const found = Promise.withResolvers<string>();
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    const [, url] = /listen(?:s|ing) on (\S+)\s/.exec(text) ?? [];
    if (url !== undefined) found.resolve(url);
  });
  return found.promise;
}

/** Rejects when the process ends, which is not a failure once it has started. */
function failure(child: ChildProcess, exited: Promise<unknown>, log: () => string): Promise<never> {
  const late = setTimeout(() => child.kill("SIGKILL"), startTimeoutMs);
  child.stdout?.once("data", () => clearTimeout(late));
  const failed = exited.then(() => Promise.reject(new Error(`it did not start: ${log()}`)));
  failed.catch(() => {});
  return failed;
}
