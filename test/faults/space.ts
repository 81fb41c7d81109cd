/** A server whose disk is nearly full when it runs, stops and starts. */
import { join } from "node:path";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
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
import type { Campaign } from "./campaign.ts";
import { createOnce } from "./load/caller.ts";
import { createRandom, type Random } from "./random.ts";
import { startServer, stopServer } from "./server.ts";

/** In KiB. The first are so little that SQLite's index of 32 KiB can only be begun. */
const free = [8, 16, 24, ...Array.from({ length: 33 }, (_, index) => index * 64)];

/** When the disk fills up. */
const times = ["running", "stopped"] as const;

export const space: Campaign = {
  name: "space",
  async run(run) {
    if (!canMount) return run.skip("only root may mount a small disk");
    const random = createRandom(run.seed, "space");
    const cases = fileSystems.flatMap((kind) =>
      times.flatMap((time) => free.map((freeKib) => ({ kind, time, freeKib }))),
    );
    for (const { kind, time, freeKib } of random.shuffle(cases)) {
      if (run.isOver() || run.found.length > 0) break;
      await using disk = await mountFileSystem(kind);
      const name = `${kind}, ${freeKib} KiB free, filled while ${time}`;
      const attempt = async () => run.find(name, await tryOn(disk, time, freeKib, random));
      await run.attempt(name, attempt);
      run.count(kind);
    }
  },
};

type Time = (typeof times)[number];

async function tryOn(disk: FileSystem, time: Time, freeKib: number, random: Random) {
  await using folder = await createTemporaryFolder();
  const database = join(disk.path, "plants.db");
  const options = { cwd: folder.path, args: ["--store", `sqlite:${database}`] };
  const confirmed: { id: bigint; name: string }[] = [];
  const found: string[] = [];
  let next = 1n;

  /** Until a create fails. @returns Whether none did. */
  async function create(server: ChildServer, count: number, lengthMax = 8000): Promise<boolean> {
    for (let left = count; left > 0; left--) {
      const plant = { id: next++, name: "x".repeat(random.int(1, lengthMax)) };
      if ((await createOnce(server.url, plant)) !== "stored") return false;
      confirmed.push(plant);
    }
    return true;
  }

  {
    await using server = await startServer(options);
    await create(server, 300);
    if (time === "running") {
      disk.fill(freeKib);
      await create(server, 300);
    }
    found.push(...(await stopServer(server)));
  }
  if (time === "stopped") disk.fill(freeKib);
  {
    await using server = await startServer(options);
    if ((await get(server.url, "/healthz")).status !== 200) found.push("it is not alive");
    // Either small plants are stored, or it says that it is not ready.
    for (let times = 3; times > 0; times--) {
      if (await create(server, 1, 1)) continue;
      if ((await readiness(server, 503)) !== 503) found.push("it is ready, but creates fail");
    }
    const { code } = await runChild(["check", ...options.args], options);
    if (code === null) found.push("check was killed by a signal");
    found.push(...(await stopServer(server)));
  }
  {
    await using server = await startServer(options);
    disk.empty();
    // Creates and readiness must be back, too, without a restart.
    if ((await readiness(server, 200)) !== 200)
      found.push("it did not recover when space was free");
    else if (!(await create(server, 1))) found.push("it is ready, but a create fails");
    found.push(...(await stopServer(server)));
  }
  const kept = new Map(readStoredPlants(database).map((row) => [row.id, row.name]));
  const lost = confirmed.filter((plant) => kept.get(plant.id) !== storedForm(plant).name);
  if (lost.length > 0) found.push(`${lost.length} of ${confirmed.length} plants are lost`);
  return found;
}

/** Waits some time for `/readyz` to return this status. */
async function readiness(server: ChildServer, wanted: number): Promise<number> {
  for (const end = performance.now() + 15_000; ; ) {
    const { status } = await get(server.url, "/readyz");
    if (status === wanted || performance.now() > end) return status;
  }
}
