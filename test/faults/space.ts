/** A server whose disk is nearly full when it runs, stops and starts. */
import { join } from "node:path";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { runChild } from "../support/child.ts";
import type { ChildServer } from "../support/child-server.ts";
import { get } from "../support/plant-request.ts";
import {
  canMount,
  type FileSystem,
  fileSystems,
  mountFileSystem,
} from "../support/small-file-system.ts";
import { readStoredPlants, storedForm } from "../support/stored-plants.ts";
import { type Campaign, count, notTried } from "./campaign.ts";
import { createOnce } from "./load/caller.ts";
import { createRandom, type Random } from "./random.ts";
import { patienceMs, startServer } from "./start-server.ts";

/** So little that SQLite's index of 32 KiB can only be begun. */
const inIndexKib = [8, 16, 24];
const stepKib = 64;
const freeKibMax = 2048;

/** When the disk fills up. */
const times = ["running", "stopped"] as const;

export const space: Campaign = {
  name: "space",
  async run({ seed, minutes, signal }) {
    if (!canMount) return notTried("only root may mount a small disk");
    const end = performance.now() + minutes * 60_000;
    const random = createRandom(seed, "space");
    const tried: Record<string, number> = {};
    const found: string[] = [];
    for (const { kind, time, freeKib } of random.shuffle(cases())) {
      if (signal.aborted || performance.now() > end || found.length > 0) break;
      await using disk = await mountFileSystem(kind);
      const name = `${kind}, ${freeKib} KiB free, filled while ${time}`;
      const broken = await tryOn(disk, { time, freeKib, random }).catch((error) => [String(error)]);
      found.push(...broken.map((line) => `${name}: ${line}`));
      count(tried, kind);
    }
    return { tried, found };
  },
};

function cases() {
  const steps = Array.from({ length: freeKibMax / stepKib + 1 }, (_, index) => index * stepKib);
  const free = [...inIndexKib, ...steps];
  return fileSystems.flatMap((kind) =>
    times.flatMap((time) => free.map((freeKib) => ({ kind, time, freeKib }))),
  );
}

interface Case {
  readonly time: (typeof times)[number];
  readonly freeKib: number;
  readonly random: Random;
}

async function tryOn(disk: FileSystem, { time, freeKib, random }: Case): Promise<string[]> {
  await using folder = await createTemporaryFolder();
  const database = join(disk.path, "plants.db");
  const args = ["--store", `sqlite:${database}`];
  const clients = new Clients(random);
  const found: string[] = [];
  {
    await using server = await startServer(folder.path, args);
    await clients.create(server, 300);
    if (time === "running") {
      disk.fill(freeKib);
      await clients.create(server, 300);
    }
    found.push(...(await stop(server)));
  }
  if (time === "stopped") disk.fill(freeKib);
  {
    await using server = await startServer(folder.path, args);
    found.push(...(await use(server, clients)), ...(await check(folder.path, args)));
    found.push(...(await stop(server)));
  }
  {
    await using server = await startServer(folder.path, args);
    disk.empty();
    found.push(...(await recover(server, clients)), ...(await stop(server)));
  }
  const kept = new Map(readStoredPlants(database).map((row) => [row.id, row]));
  const lost = clients.confirmed.filter(
    (plant) => kept.get(plant.id)?.name !== storedForm(plant).name,
  );
  if (lost.length > 0) found.push(`${lost.length} of ${clients.confirmed.length} plants are lost`);
  return found;
}

async function stop(server: ChildServer): Promise<string[]> {
  server.process.kill("SIGTERM");
  const { code, signal } = await within("the end of the server", server.exited, patienceMs);
  return code === 0 ? [] : [`the server ended with ${signal ?? code}: ${server.stderr.text}`];
}

async function check(cwd: string, args: readonly string[]): Promise<string[]> {
  const { code } = await runChild(["check", ...args], { cwd });
  return code === null ? ["check was killed by a signal"] : [];
}

/** The space is back: creates and readiness must be, too, without a restart. */
async function recover(server: ChildServer, clients: Clients): Promise<string[]> {
  if ((await readiness(server, 200)) !== 200) return ["it did not recover when space was free"];
  return (await clients.create(server, 1)) ? [] : ["it is ready, but a create fails"];
}

/** Waits some time for `/readyz` to return this status. */
async function readiness(server: ChildServer, wanted: number): Promise<number> {
  for (const end = performance.now() + 15_000; ; ) {
    const { status } = await get(server.url, "/readyz");
    if (status === wanted || performance.now() > end) return status;
  }
}

class Clients {
  readonly confirmed: { id: bigint; name: string }[] = [];
  readonly #random: Random;
  #next = 1n;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Until a create fails. @returns Whether none did. */
  async create(server: ChildServer, count: number, lengthMax = 8000): Promise<boolean> {
    for (let left = count; left > 0; left--) {
      const plant = { id: this.#next++, name: "x".repeat(this.#random.int(1, lengthMax)) };
      if ((await createOnce(server.url, plant)) !== "stored") return false;
      this.confirmed.push(plant);
    }
    return true;
  }
}

/** While the disk is nearly full: either small plants are stored, or it says that it is not ready. */
async function use(server: ChildServer, clients: Clients): Promise<string[]> {
  const found: string[] = [];
  if ((await get(server.url, "/healthz")).status !== 200) found.push("it is not alive");
  for (let times = 3; times > 0; times--) {
    if (await clients.create(server, 1, 1)) continue;
    if ((await readiness(server, 503)) !== 503) found.push("it is ready, but creates fail");
  }
  return found;
}
