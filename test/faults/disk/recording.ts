import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { acknowledgedName, type Call, parseCallLog } from "./call-log.ts";
import type { CreatingOptions, CreatingReport } from "./creating-child.ts";
import { Disk, DiskFile, type DiskFolder, materialise, type Tree } from "./disk.ts";
import type { PlantSizes } from "./plants.ts";

const child = fileURLToPath(new URL("./creating-child.ts", import.meta.url));

/** A position among a process's disk calls; 1 is the first. */
export type CallNumber = { readonly call: number } | { readonly sync: number };

/** How calls fail: see shim.c. */
export interface Fault {
  /** The first call that fails. */
  readonly at: CallNumber;
  readonly errno: number;
  readonly scope: "once" | "same" | "space";
  readonly short: boolean;
}

export interface ProcessOptions extends Omit<CreatingOptions, "root" | "url" | "sizes"> {
  /** Not together with `killAt`. */
  readonly fault?: Fault;
  /** The process is killed before this call. */
  readonly killAt?: CallNumber;
}

export interface RecordingOptions {
  readonly shimPath: string;
  readonly sizes: PlantSizes;
  readonly before?: Tree | undefined;
}

/** Processes that create plants in one store, one after another, and all their calls. */
export class Recording {
  readonly root: string;
  /** The durable content of the root at the beginning. */
  readonly #before: Tree;
  readonly sizes: PlantSizes;
  readonly #logPath: string;
  readonly #shimPath: string;

  /** @param folder A new directory, owned by the recording. */
  static async begin(folder: string, options: RecordingOptions): Promise<Recording> {
    const recording = new Recording(folder, options);
    await materialise(recording.#before, recording.root);
    return recording;
  }

  private constructor(folder: string, { shimPath, sizes, before = new Map() }: RecordingOptions) {
    this.root = join(folder, "root");
    this.#logPath = join(folder, "log");
    this.#shimPath = shimPath;
    this.sizes = sizes;
    this.#before = before;
  }

  get url(): string {
    return `sqlite:${join(this.root, databaseName)}`;
  }

  /** @returns The final output of the process; undefined if it was killed. */
  async run(options: ProcessOptions): Promise<CreatingReport | undefined> {
    const { fault, killAt, ...creating } = options;
    const { root, url, sizes } = this;
    if (creating.switchPath !== undefined) await writeFile(creating.switchPath, "");
    const running = spawn(
      process.execPath,
      [child, JSON.stringify({ root, url, sizes, ...creating } satisfies CreatingOptions)],
      {
        stdio: ["ignore", "pipe", "pipe"],
        timeout: 60_000,
        env: {
          PATH: process.env["PATH"],
          NODE_OPTIONS: process.env["NODE_OPTIONS"], // the sources of connect-gateway
          ...shimEnvironment(this.#shimPath, root, this.#logPath),
          ...(fault !== undefined && faultEnvironment(fault, creating.switchPath)),
          ...(killAt !== undefined && killEnvironment(killAt)),
        },
      },
    );
    const exit = new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
      running.once("error", reject);
      running.once("close", (code, signal) => resolve([code, signal]));
    });
    const [stdout, stderr, [code, signal]] = await Promise.all([
      text(running.stdout),
      text(running.stderr),
      exit,
    ]);
    if (signal === "SIGKILL" && killAt !== undefined) return undefined;
    if (code !== 0)
      throw new Error(`the process that creates plants ended: ${signal ?? code} ${stderr}`);
    return JSON.parse(stdout) as CreatingReport;
  }

  async calls(): Promise<readonly Call[]> {
    return parseCallLog(await readFile(this.#logPath));
  }

  /** The numbers of the plants acknowledged so far. */
  async acknowledged(): Promise<ReadonlySet<number>> {
    const path = join(this.root, acknowledgedName);
    return new Set((await this.calls()).flatMap((call) => acknowledgedBy(call, path)));
  }

  /** The disk before the first call. */
  disk(): Disk {
    return new Disk(this.root, this.#before);
  }

  /**
   * Checks that applying all recorded writes gives the content of the files: nothing bypassed the
   * shim.
   */
  async assertComplete(): Promise<void> {
    const disk = this.disk();
    for (const call of await this.calls()) if (!isAside(call.path)) disk.apply(call);
    await assertEqual(disk.root, this.root);
  }

  async remove(): Promise<void> {
    await rm(join(this.root, ".."), { recursive: true, force: true });
  }
}

/** The path of the store below the root. Its directories must be created. */
export const databaseName = "some/data/plants.db";

/** The numbers of the plants that a call acknowledged. */
export function acknowledgedBy(call: Call, path: string): readonly number[] {
  if (call.kind !== "write" || call.path !== path) return [];
  return call.data.toString().split("\n").slice(0, -1).map(Number);
}

/** What is not on the simulated disk: the acknowledgements, and the wal-index, which is memory. */
export function isAside(path: string): boolean {
  return path.endsWith(`/${acknowledgedName}`) || path.endsWith("-shm");
}

/** The environment that tells the shim what to record. */
export function shimEnvironment(
  shimPath: string,
  root: string,
  log: string,
): Record<string, string> {
  return { LD_PRELOAD: shimPath, DISK_ROOT: root, DISK_LOG: log, DISK_SYNC_US: "1000" };
}

export function faultEnvironment(
  { at, errno, scope, short }: Fault,
  switchPath?: string,
): Record<string, string> {
  const scopes = { once: 0, same: 1, space: 2 } as const;
  return {
    ...countEnvironment(at),
    DISK_FAULT: `${numberOf(at)} ${errno} ${scopes[scope]} ${short ? 1 : 0}`,
    ...(switchPath !== undefined && { DISK_SWITCH: switchPath }),
  };
}

function killEnvironment(at: CallNumber): Record<string, string> {
  return { ...countEnvironment(at), DISK_KILL: String(numberOf(at)) };
}

function countEnvironment(at: CallNumber): Record<string, string> {
  return "sync" in at ? { DISK_COUNT: "syncs" } : {};
}

function numberOf(at: CallNumber): number {
  return "sync" in at ? at.sync : at.call;
}

async function assertEqual(entry: DiskFolder | DiskFile, path: string): Promise<void> {
  if (entry instanceof DiskFile) {
    if ((await readFile(path)).equals(entry.content())) return;
    throw new Error(`${path} holds what was not recorded`);
  }
  for (const [name, { last }] of entry.entries) {
    const below = join(path, name);
    if (last !== undefined) await assertEqual(last, below);
    else if (existsSync(below)) throw new Error(`${below} is there, by no call that was recorded`);
  }
}
