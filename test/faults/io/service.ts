/** The whole service, on a disk that fails. */
import { writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { within } from "../../../packages/gateway/test/support/within.ts";
import type { Run } from "../campaign.ts";
import { databaseName, openRecording, recordCalls } from "../disk/recording.ts";
import type { Place } from "../disk/shim.ts";
import { createOnce } from "../load/caller.ts";
import { startServer } from "../server.ts";

/** It must end with an exit code and a line with the reason, so that it is restarted. */
export async function tryFailedSync(run: Run, place: Place): Promise<void> {
  const calls = await recordCalls(place, { sizes: "small", openings: [1] });
  const firstSyncOfLog = calls.findIndex(
    ({ kind, path }) => kind === "sync" && path.endsWith(`${databaseName}-wal`),
  );
  const at = { call: 1 + firstSyncOfLog };
  const fault = { at, errno: constants.errno.EIO, scope: "same" } as const;
  const cwd = join(place.folder, "service");
  const switchPath = join(cwd, "switch");
  await using recording = await openRecording(cwd, { shimPath: place.shimPath, sizes: "small" });
  const env = recording.environment({ fault, switchPath });
  await using server = await startServer({ cwd, args: ["--store", recording.url], env });
  const find = (what: string) => run.find("a service whose disk fails", [what]);

  async function create(id: bigint, expected: string): Promise<void> {
    const outcome = await createOnce(server.url, { id, name: "Basil" });
    if (outcome !== expected) find(`plant ${id} was ${outcome}, not ${expected}`);
  }

  await create(1n, "stored");
  await writeFile(switchPath, "");
  await create(2n, "unavailable");
  const ended = within("its end", server.exited, 30_000);
  const end = await ended.then(({ code }) => `ended with exit code ${code}`, String);
  if (end !== "ended with exit code 1") find(end);
  const line = /"level":"error".*SQLITE_IOERR_FSYNC.*"the service has failed: draining"/;
  const { text } = server.stderr;
  if (!line.test(text)) find(`did not say why: ${text}`);
  run.count("a service whose disk fails");
}
