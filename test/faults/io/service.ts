/** The whole service, on a disk that fails and on one that is full for a while. */
import { rm, writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { spawnServer } from "../../support/child-server.ts";
import type { CampaignResult } from "../campaign.ts";
import { isNumbered } from "../disk/call-log.ts";
import {
  databaseName,
  type Fault,
  faultEnvironment,
  Recording,
  shimEnvironment,
} from "../disk/recording.ts";
import { createOnce } from "../load/caller.ts";
import type { Place } from "./io.ts";

export async function tryService(place: Place): Promise<CampaignResult> {
  const found = [await tryFailedSync(place), await tryFullDisk(place)].flat();
  return { tried: { "a service whose disk fails": 1, "a service whose disk is full": 1 }, found };
}

/** It must end with an exit code and a line with the reason, so that it is restarted. */
async function tryFailedSync(place: Place): Promise<readonly string[]> {
  const call = await firstSyncOfLog(place);
  const { EIO: errno } = constants.errno;
  await using service = await startService(place, {
    at: { call },
    errno,
    scope: "same",
    short: false,
  });
  const found: string[] = [];
  if ((await service.create(1n)) !== "stored") found.push("the service does not create");
  await service.turnFaultOn();
  if ((await service.create(2n)) !== "unavailable")
    found.push("a create was answered although its sync failed");
  const ended = within("the end of a service whose disk fails", service.exited, 30_000);
  const end = await ended.then(({ code }) => `ended with exit code ${code}`, String);
  if (end !== "ended with exit code 1") found.push(`a service whose disk fails: ${end}`);
  const line = /"level":"error".*SQLITE_IOERR_FSYNC.*"the service has failed: draining"/;
  if (!line.test(service.stderr.text)) found.push(`it did not say why: ${service.stderr.text}`);
  return found;
}

/** It must reject creates while the disk is full, and accept them again afterwards. */
async function tryFullDisk(place: Place): Promise<readonly string[]> {
  const { ENOSPC: errno } = constants.errno;
  await using service = await startService(place, {
    at: { call: 1 },
    errno,
    scope: "space",
    short: false,
  });
  const found: string[] = [];
  await service.turnFaultOn();
  for (const id of [1n, 2n]) {
    const outcome = await service.create(id);
    if (outcome !== "unavailable") found.push(`a create on a full disk was ${outcome}`);
  }
  await service.turnFaultOff();
  for (const id of [1n, 2n, 3n]) {
    const outcome = await service.create(id);
    if (outcome !== "stored") found.push(`a create after a full disk was ${outcome}`);
  }
  return found;
}

async function startService({ folder, shimPath }: Place, fault: Fault) {
  const root = join(folder, "service");
  const recording = await Recording.begin(root, { shimPath, sizes: "small" });
  const switchPath = join(root, "switch");
  const server = await spawnServer({
    cwd: root,
    args: ["--store", recording.url],
    env: {
      ...shimEnvironment(shimPath, recording.root, join(root, "log")),
      ...faultEnvironment(fault, switchPath),
    },
  });
  return {
    ...server,
    turnFaultOn: () => writeFile(switchPath, ""),
    turnFaultOff: () => rm(switchPath),
    create: (id: bigint) => createOnce(server.url, { id, name: "Basil" }),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await recording.remove();
    },
  };
}

/** The number of the call, on a new store. */
async function firstSyncOfLog({ folder, shimPath }: Place): Promise<number> {
  const recording = await Recording.begin(join(folder, "first"), { shimPath, sizes: "small" });
  await recording.run({ openings: [[0, 1]], concurrency: 1 });
  const calls = (await recording.calls()).filter((call) => isNumbered(call, recording.root));
  await recording.remove();
  return (
    1 + calls.findIndex(({ kind, path }) => kind === "sync" && path.endsWith(`${databaseName}-wal`))
  );
}
