/** Clients that are refused amid a large body, and leave. */
import { expect, test } from "vitest";
import { createTemporaryFolder } from "../../../packages/gateway/test/support/temporary-folder.ts";
import { sqliteKind } from "../../support/store-place.ts";
import { createRandom } from "../random.ts";
import { startServer, usageOf } from "../server.ts";
import { departures } from "./floods/excess.ts";

test.skipIf(process.platform !== "linux")("nothing of them stays open", async () => {
  await using place = await sqliteKind.open();
  await using at = await createTemporaryFolder();
  await using server = await startServer({ cwd: at.path, args: ["--store", place.url], env: {} });
  const flood = { ...server, random: createRandom(1, "departures"), signal: AbortSignal.any([]) };
  const files = () => usageOf(server)?.files ?? Number.NaN;
  const before = files();
  for (let round = 0; round < 3; round++) expect((await departures.run(flood)).found).toEqual([]);
  await expect.poll(files).toBeLessThan(before + 8);
});
