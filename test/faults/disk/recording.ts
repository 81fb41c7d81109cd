import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { acknowledgedBy, type Call, isNumbered, parseCallLog } from "./call-log.ts";
import { crash } from "./crash-state.ts";
import type { CreatingOptions, CreatingReport } from "./creating-child.ts";
import { Disk, materialise, type Tree } from "./disk.ts";
import type { PlantSizes } from "./plants.ts";
import type { Place } from "./shim.ts";

const child = fileURLToPath(new URL("./creating-child.ts", import.meta.url));

/** The path of the store below the root. Its directories must be created. */
export const databaseName = "some/data/plants.db";

/** A position among a process's disk calls; 1 is the first. */
type CallNumber = { readonly call: number } | { readonly sync: number };

/** How calls fail: see shim.c. */
export interface Fault {
  /** The first call that fails. */
  readonly at: CallNumber;
  readonly errno: number;
  readonly scope: "once" | "same" | "space";
  readonly short?: boolean;
}

interface Faults {
  /** Not together with `killAt`. */
  readonly fault?: Fault | undefined;
  /** The process is killed before this call. */
  readonly killAt?: CallNumber | undefined;
  readonly switchPath?: string | undefined;
}

type ProcessOptions = Pick<CreatingOptions, "openings" | "concurrency"> & Faults;

interface RecordingOptions {
  readonly shimPath: string;
  readonly sizes: PlantSizes;
  /** The durable content of the root at the beginning. */
  readonly before?: Tree | undefined;
}

export type Recording = Awaited<ReturnType<typeof openRecording>>;

/** The numbered calls of a store without faults. */
export async function recordCalls(
  { folder, shimPath }: Place,
  { sizes, openings }: Pick<CreatingOptions, "sizes" | "openings">,
): Promise<readonly Call[]> {
  await using recording = await openRecording(join(folder, "calls"), { shimPath, sizes });
  await recording.run({ openings, concurrency: 1 });
  return (await recording.calls()).filter(isNumbered);
}

/**
 * Processes that create plants in one store, one after another, and all their calls.
 *
 * @param folder A new directory. Removed at the end of an `await using`.
 */
export async function openRecording(
  folder: string,
  { shimPath, sizes, before = new Map() }: RecordingOptions,
) {
  const root = join(folder, "root");
  const log = join(folder, "log");
  const url = `sqlite:${join(root, databaseName)}`;
  await materialise(before, root);

  /** The environment of a process that is to be recorded. */
  function environment({ fault, killAt, switchPath }: Faults): Record<string, string> {
    const at = fault?.at ?? killAt ?? { call: 0 };
    const number = "sync" in at ? at.sync : at.call;
    const scopes = { once: 0, same: 1, space: 2 } as const;
    return {
      ...{ LD_PRELOAD: shimPath, DISK_ROOT: root, DISK_LOG: log, DISK_SYNC_US: "1000" },
      ...("sync" in at && { DISK_COUNT: "syncs" }),
      ...(fault && {
        DISK_FAULT: `${number} ${fault.errno} ${scopes[fault.scope]} ${fault.short ? 1 : 0}`,
      }),
      ...(killAt && { DISK_KILL: `${number}` }),
      ...(switchPath !== undefined && { DISK_SWITCH: switchPath }),
    };
  }

  /** @returns The final output of the process; undefined if it was killed. */
  async function run(options: ProcessOptions): Promise<CreatingReport | undefined> {
    const { fault, killAt, ...creating } = options;
    const { switchPath } = creating;
    if (switchPath !== undefined) await writeFile(switchPath, "");
    const argument: CreatingOptions = { root, url, sizes, ...creating };
    const running = spawn(process.execPath, [child, JSON.stringify(argument)], {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 60_000,
      env: {
        PATH: process.env["PATH"],
        NODE_OPTIONS: process.env["NODE_OPTIONS"], // the sources of connect-gateway
        ...environment({ fault, killAt, switchPath }),
      },
    });
    const [stdout, stderr, [code, signal]] = await Promise.all([
      text(running.stdout),
      text(running.stderr),
      once(running, "close"),
    ]);
    if (signal === "SIGKILL" && killAt !== undefined) return undefined;
    if (code === 0) return JSON.parse(stdout);
    throw new Error(`the process that creates plants ended: ${signal ?? code} ${stderr}`);
  }

  const calls = async () => parseCallLog(await readFile(log));

  /** The numbers of the plants acknowledged so far. */
  const acknowledged = async () => new Set((await calls()).flatMap(acknowledgedBy));

  /** The disk before the first call. */
  const disk = () => new Disk(root, before);

  /**
   * Checks that applying all recorded writes gives the content of the files: nothing bypassed the
   * shim.
   */
  async function assertComplete(): Promise<void> {
    const written = disk();
    for (const call of await calls()) written.apply(call);
    const whole = crash(written, "everything", () => 0);
    for (const path of written.entries.keys()) {
      const content = whole.get(path);
      if (content === undefined && existsSync(join(root, path))) {
        throw new Error(`${path} is there, by no call that was recorded`);
      }
      if (Buffer.isBuffer(content) && !content.equals(await readFile(join(root, path)))) {
        throw new Error(`${path} holds what was not recorded`);
      }
    }
  }

  return {
    ...{ root, url, sizes, environment, run, calls, acknowledged, disk, assertComplete },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
