/**
 * Compiles and tests the gateway with the lowest peer versions that package.json allows. `npm test`
 * uses the highest, those of the lock.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, join } from "node:path";
import { createTally } from "../support/tally.ts";
import { createTemporaryFolder } from "../support/temporary-folder.ts";

const gateway = "packages/gateway";
const { dependencies, peerDependencies, devDependencies } = JSON.parse(
  readFileSync(join(gateway, "package.json"), "utf8"),
);
const lowest = Object.fromEntries(
  Object.entries<string>(peerDependencies).map(([name, range]) => [name, range.replace("^", "")]),
);
const described = Object.entries(lowest).map((peer) => peer.join(" "));

/** Tests that replace a module need a process of their own. */
const mocked = "**/*.mocked.test.ts";

/** Many times what any of the commands takes. One that takes longer is stuck. */
const commandMsMax = 20 * 60_000;

using tally = createTally("peers");
await using folder = await createTemporaryFolder();
await tally.add(described.join(", "), async () => {
  // At the same place as here, so that paths are the same.
  mkdirSync(join(folder.path, "packages"));
  cpSync(gateway, join(folder.path, gateway), {
    recursive: true,
    filter: (path) => !["dist", "node_modules"].includes(basename(path)),
  });
  cpSync("tsconfig.json", join(folder.path, "tsconfig.json"));
  const project = { type: "module", dependencies: { ...dependencies, ...lowest }, devDependencies };
  writeFileSync(join(folder.path, "package.json"), JSON.stringify(project));
  run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]);
  run(process.execPath, ["node_modules/typescript/bin/tsc", "--noEmit"]);
  // A busy machine may be late once. Late twice is a difference of the versions.
  const patience = ["--testTimeout", "20000", "--expect.poll.timeout", "20000", "--retry", "1"];
  // Many tests wait for something.
  const workers = ["--maxWorkers", `${availableParallelism() + 4}`];
  const vitest = ["node_modules/vitest/vitest.mjs", "run", ...patience, ...workers];
  // The adapters are compared with the connect-node that is pinned.
  const left = [mocked, "**/differential/*.test.ts"].flatMap((one) => ["--exclude", one]);
  run(process.execPath, [...vitest, "--no-isolate", ...left, `${gateway}/test`]);
  run(process.execPath, [...vitest, ".mocked.test.ts"]);
});

function run(command: string, args: readonly string[]): void {
  execFileSync(command, args, { cwd: folder.path, stdio: "inherit", timeout: commandMsMax });
}
