/** The servers of the campaigns. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { within } from "../../packages/gateway/test/support/within.ts";
import { type ChildOptions, spawnChild } from "../support/child.ts";
import { type ChildServer, type ChildServerOptions, spawnServer } from "../support/child-server.ts";

/** Campaigns run on machines that are busy with other things and with their own load. */
export const patienceMs = 120_000;

/** A heap with which a server has to stay below this, as in the pods of deploy/. */
export const smallHeap = { NODE_OPTIONS: "--max-old-space-size=256 --max-semi-space-size=8" };
export const residentMiBMax = 512;

/** A `plant-store serve` that is ready for requests. */
export function startServer(options: ChildServerOptions = {}) {
  return spawnServer({ ...options, startTimeoutMs: patienceMs });
}

/** A server for each URL of a store. */
export async function startServers(stack: AsyncDisposableStack, storeUrls: readonly string[]) {
  const servers: ChildServer[] = [];
  for (const url of storeUrls) {
    servers.push(stack.use(await startServer({ args: ["--store", url] })));
  }
  return servers;
}

/** Sends SIGTERM. @returns a line if it does not end well. */
export async function stopServer(server: ChildServer): Promise<string[]> {
  server.process.kill("SIGTERM");
  return await endOf(server);
}

/** Of a server that was told to end. @returns a line if it does not end well. */
export async function endOf({ exited, stderr }: ChildServer): Promise<string[]> {
  const { code, signal } = await within("the end of the server", exited, patienceMs);
  return code === 0 ? [] : [`the server ended with ${signal ?? code}: ${stderr.text.slice(-1000)}`];
}

/** Of a server that nobody told to end. @returns a line if it did. */
export function deathOf({ process: { exitCode, signalCode }, stderr }: ChildServer): string[] {
  if (exitCode === null && signalCode === null) return [];
  return [`the server has died with ${exitCode ?? signalCode}: ${stderr.text.slice(-1000)}`];
}

/** What a server must not do if only its clients misbehave. */
export function complaintsOf(server: ChildServer): string[] {
  const complaints = new Set(server.stderr.text.split("\n").filter(isComplaint));
  return [...deathOf(server), ...[...complaints].map((line) => `the server logged ${line}`)];
}

/** Whether a line of a server's log reports an internal failure or a crash. */
export function isComplaint(line: string): boolean {
  return /"level":"error"|^\s+at |^node:/.test(line);
}

/** Its resources, as counted by the kernel. Undefined if it has ended, or this is not Linux. */
export function usageOf({ process: { pid } }: ChildServer) {
  const folder = `/proc/${pid}`;
  if (!existsSync(folder)) return undefined;
  const status = readFileSync(`${folder}/status`, "utf8");
  const mebibytes = (name: string) =>
    Math.round(Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0) / 1024);
  // Files include connections.
  const files = readdirSync(`${folder}/fd`).length;
  return { memoryMiB: mebibytes("VmRSS"), peakMiB: mebibytes("VmHWM"), files };
}

/** The command before an upstream with reflection, once it serves. */
export async function startProxy(upstreamUrl: string, options: ChildOptions): Promise<ChildServer> {
  const args = ["--upstream", upstreamUrl, "--reflection", "--port", "0"];
  const child = await startProgram("packages/proxy/src/cli/main.ts", args, options);
  await child.stderr.until(/ serves /, patienceMs);
  return child;
}

/** Another program, by its path, once it says where it listens. */
export async function startProgram(path: string, args: readonly string[], options: ChildOptions) {
  const program = join(import.meta.dirname, "../..", path);
  const child = spawnChild(args, { ...options, program });
  const [, url = ""] = await child.stdout.until(/listening on (\S+)/, patienceMs);
  return { ...child, url, port: Number(new URL(url).port) };
}

/** Follows the memory of a server until the end of a `using`. */
export function watchMemory(server: ChildServer) {
  let peakMiB = 0;
  const timer = setInterval(() => {
    peakMiB = Math.max(peakMiB, usageOf(server)?.memoryMiB ?? 0);
  }, 20);
  return {
    get peakMiB() {
      return peakMiB;
    },
    /** What is wrong with it: it has died, or took too much. */
    get problems() {
      const tooMuch = peakMiB > residentMiBMax ? [`${peakMiB} MiB resident`] : [];
      return [...deathOf(server), ...tooMuch];
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
