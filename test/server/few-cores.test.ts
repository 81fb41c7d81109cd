import { join } from "node:path";
import { expect, test } from "vitest";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { describeFewCores } from "../../src/server/few-cores.ts";
import { startServer } from "../../src/server/start.ts";
import { createRecordedLog } from "../support/recorded-log.ts";
import { knownToken } from "../support/test-server.ts";

test.each([
  [1, 1],
  [2, 4],
  [6, 8],
])("--threads %i on %i cores is nothing to speak of", (threads, cores) => {
  expect(describeFewCores(threads, cores)).toBeUndefined();
});

test.each([
  [2, 2, "--threads 2 wants 4 cores, and there are 2"],
  [2, 3, "--threads 2 wants 4 cores, and there are 3"],
  [8, 8, "--threads 8 wants 10 cores, and there are 8"],
])("--threads %i on %i cores", (threads, cores, said) => {
  expect(describeFewCores(threads, cores)).toContain(said);
});

test.runIf(process.platform === "linux")("a start with too few cores tells the log", async () => {
  await using folder = await createTemporaryFolder();
  const log = createRecordedLog();
  const options = {
    port: 0,
    threads: 2,
    store: `sqlite:${join(folder.path, "plants.db")}`,
    auth: { tokenFile: undefined, tokens: [knownToken] },
    log,
  };
  const server = await startServer(options, { nodeVersion: "26.10.0", cores: 3 });
  await server.close();
  const lines = log.lines.map(({ level, message }) => ({ level, message }));
  expect(lines).toEqual([{ level: "warn", message: describeFewCores(2, 3) }]);
});
