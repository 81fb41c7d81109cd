import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { describeOldNode } from "../../src/server/node-floor.ts";
import { startServer } from "../../src/server/start.ts";
import { createRecordedLog } from "../support/recorded-log.ts";
import { knownToken } from "../support/test-server.ts";

const versions: readonly [version: string, warning: RegExp | undefined][] = [
  ["22.23.0", /^Node 22\.23\.0 has vulnerabilities that are known: use 22\.23\.2 or a later one$/],
  ["22.23.1", /22\.23\.2/],
  ["22.23.2", undefined],
  ["22.23.10", undefined],
  ["22.100.0", undefined],
  ["22.9.5", /22\.23\.2/],
  ["24.18.0", /24\.18\.1/],
  ["24.18.1", undefined],
  ["24.19.0", undefined],
  ["26.5.0", /26\.5\.1/],
  ["26.5.1", undefined],
  ["26.5.0-nightly20260701", /26\.5\.1/],
  ["27.0.0", undefined],
];
test.each(versions)("Node %s: %s", (version, warning) => {
  const described = describeOldNode(version);
  if (warning === undefined) expect(described).toBeUndefined();
  else expect(described).toMatch(warning);
});

test("the Node that comes with a checkout, and is in the image, is recent enough", () => {
  const { optionalDependencies } = JSON.parse(readFileSync(".ci/node/package.json", "utf8"));
  expect(Object.values<string>(optionalDependencies).map(describeOldNode)).toEqual(
    Object.values(optionalDependencies).map(() => undefined),
  );
});

describe("a server", () => {
  const threadCounts = process.platform === "linux" ? [1, 2] : [1];
  const rows = threadCounts.flatMap((threads) => [
    { threads, version: "22.23.0", warnings: 1 },
    { threads, version: "26.10.0", warnings: 0 },
  ]);
  test.each(rows)("on Node $version, threads: $threads: $warnings warnings", async (row) => {
    await using folder = await createTemporaryFolder();
    const log = createRecordedLog();
    const options = {
      port: 0,
      threads: row.threads,
      store: `sqlite:${join(folder.path, "plants.db")}`,
      auth: { tokenFile: undefined, tokens: [knownToken] },
      log,
    };
    const server = await startServer(options, { nodeVersion: row.version, cores: 4 });
    await server.close();
    const lines = log.lines.map(({ level, message }) => ({ level, message }));
    expect(lines).toEqual(
      row.warnings === 0 ? [] : [{ level: "warn", message: describeOldNode(row.version) }],
    );
  });
});
