/** The whole service, on a disk that fails. */
import { writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { within } from "../../../packages/gateway/test/support/within.ts";
import type { Run } from "../campaign.ts";
import { databaseName, type Fault, openRecording, recordCalls } from "../disk/recording.ts";
import type { Place } from "../disk/shim.ts";
import { createOnce } from "../load/caller.ts";
import { startServer } from "../server.ts";

const { EIO } = constants.errno;

/** It must end with an exit code and a line with the reason, so that it is restarted. */
export async function tryFailedSync(run: Run, place: Place): Promise<void> {
  const calls = await recordCalls(place, { sizes: "small", openings: [1] });
  const firstSyncOfLog = calls.findIndex(
    ({ kind, path }) => kind === "sync" && path.endsWith(`${databaseName}-wal`),
  );
  const at = { call: 1 + firstSyncOfLog };
  await using service = await startService(run, place, { at, errno: EIO, scope: "same" });
  await service.create(1n, "stored", "before its sync fails");
  await service.turnFaultOn();
  await service.create(2n, "unavailable", "whose sync failed");
  const ended = within("its end", service.server.exited, 30_000);
  const end = await ended.then(({ code }) => `ended with exit code ${code}`, String);
  if (end !== "ended with exit code 1") run.find("a service whose disk fails", [end]);
  const line = /"level":"error".*SQLITE_IOERR_FSYNC.*"the service has failed: draining"/;
  const { text } = service.server.stderr;
  if (!line.test(text)) run.find("a service whose disk fails", [`did not say why: ${text}`]);
  run.count("a service whose disk fails");
}

async function startService(run: Run, { folder, shimPath }: Place, fault: Fault) {
  const cwd = join(folder, "service");
  const switchPath = join(cwd, "switch");
  await using stack = new AsyncDisposableStack();
  const recording = stack.use(await openRecording(cwd, { shimPath, sizes: "small" }));
  const env = recording.environment({ fault, switchPath });
  const server = stack.use(await startServer({ cwd, args: ["--store", recording.url], env }));
  const owned = stack.move();
  return {
    server,
    turnFaultOn: () => writeFile(switchPath, ""),
    async create(id: bigint, expected: string, when: string) {
      const outcome = await createOnce(server.url, { id, name: "Basil" });
      if (outcome !== expected) run.find(`a create ${when}`, [`it was ${outcome}`]);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
