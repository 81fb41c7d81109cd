import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { acknowledgedName, type Call, parseCallLog } from "./call-log.ts";
import type { CreatingOptions, CreatingReport } from "./creating-child.ts";
import { Disk, DiskFile, type DiskFolder, type Tree } from "./disk.ts";
import type { PlantSizes } from "./plants.ts";
import { materialise } from "./tree.ts";

const child = fileURLToPath(new URL("./creating-child.ts", import.meta.url));

/** How calls fail: see shim.c. */
export interface Fault {
  /** The number of the first call that fails; 1 is the first. */
  readonly call: number;
  readonly errno: number;
  readonly scope: "once" | "same" | "space";
  readonly short: boolean;
}

export interface ProcessOptions extends Omit<CreatingOptions, "root" | "url" | "sizes"> {
  readonly fault?: Fault;
  /** The number of the call, or of the sync, before which the process is killed. */
  readonly killAt?: { readonly call: number } | { readonly sync: number };
}

/** Processes that create plants in one store, one after the other, and all their calls. */
export class Recording {
  readonly root: string;
  /** What was in the root at the beginning, safely. */
  readonly #before: Tree;
  readonly sizes: PlantSizes;
  readonly #logPath: string;
  readonly #shimPath: string;

  /** @param folder New; it will be the recording's own. */
  static async begin(
    folder: string,
    {
      shimPath,
      sizes,
      before = new Map(),
    }: {
      shimPath: string;
      sizes: PlantSizes;
      before?: Tree | undefined;
    },
  ): Promise<Recording> {
    const recording = new Recording(folder, shimPath, sizes, before);
    await materialise(before, recording.root);
    return recording;
  }

  private constructor(folder: string, shimPath: string, sizes: PlantSizes, before: Tree) {
    this.root = join(folder, "root");
    this.#logPath = join(folder, "log");
    this.#shimPath = shimPath;
    this.sizes = sizes;
    this.#before = before;
  }

  get url(): string {
    return `sqlite:${join(this.root, databaseName)}`;
  }

  /** @returns What the process said at its end; undefined if it was killed. */
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
          ...shimEnvironment(this.#shimPath, root, this.#logPath, fault, creating.switchPath),
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

  /** The disk as it was before the first call. */
  disk(): Disk {
    return new Disk(this.root, this.#before);
  }

  /** Whether what the calls wrote, all applied, is what the files hold: nothing went past the shim. */
  async assertComplete(): Promise<void> {
    const disk = this.disk();
    for (const call of await this.calls()) if (!isAside(call.path)) disk.apply(call);
    await assertEqual(disk.root, this.root);
  }

  async remove(): Promise<void> {
    await rm(join(this.root, ".."), { recursive: true, force: true });
  }
}

/** Of the store below the root: folders have to be made for it. */
export const databaseName = "some/data/plants.db";

/** What is not on the simulated disk: the acknowledgements, and the wal-index, which is memory. */
export function isAside(path: string): boolean {
  return path.endsWith(`/${acknowledgedName}`) || path.endsWith("-shm");
}

function killEnvironment(killAt: NonNullable<ProcessOptions["killAt"]>): NodeJS.ProcessEnv {
  if ("call" in killAt) return { DISK_KILL: String(killAt.call) };
  return { DISK_KILL_SYNC: String(killAt.sync) };
}

export function shimEnvironment(
  shimPath: string,
  root: string,
  log: string,
  fault?: Fault,
  switchPath?: string,
): NodeJS.ProcessEnv {
  const scopes = { once: 0, same: 1, space: 2 } as const;
  return {
    PATH: process.env["PATH"],
    LD_PRELOAD: shimPath,
    DISK_ROOT: root,
    DISK_LOG: log,
    DISK_SYNC_US: "1000",
    ...(fault !== undefined && {
      DISK_FAULT: `${fault.call} ${fault.errno} ${scopes[fault.scope]} ${fault.short ? 1 : 0}`,
    }),
    ...(switchPath !== undefined && { DISK_SWITCH: switchPath }),
  };
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
