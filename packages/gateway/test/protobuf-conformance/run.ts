/**
 * Runs the JSON tests of protobuf's own conformance suite against the gateway, required and
 * recommended, over REST and over Connect. The suite is a program. It comes in an npm package,
 * with the protos of its messages. Tests without JSON are skipped.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { install } from "../runtimes/project.ts";
import { createTally } from "../support/tally.ts";
import { createTemporaryFolder } from "../support/temporary-folder.ts";
import { findRunner, type Runner } from "./runner.ts";
import { type Way, ways } from "./way.ts";

const root = resolve(import.meta.dirname, "../../../..");
const folder = "packages/gateway/test/protobuf-conformance";

const suiteTimeoutMs = 300_000;

using tally = createTally("protobuf");
await using temporary = await createTemporaryFolder();
let runner: Runner | undefined;
await tally.add("the suite", async () => {
  await install(import.meta.dirname, []);
  // The code for the program under test, and a check of the program's types.
  const config = ["--config", `${folder}/buf.workspace.yaml`];
  run("buf", ["generate", "--clean", ...config, "--template", `${folder}/buf.gen.yaml`]);
  run("tsc", ["--project", `${folder}/testee`]);
  runner = findRunner(temporary.path);
});
for (const way of runner === undefined ? [] : ways) {
  await tally.add(way, async () => runSuite(runner ?? [""], way));
}

/** @returns the counts. */
function runSuite([command, ...args]: Runner, way: Way): string {
  const { status, stderr } = spawnSync(
    command,
    [
      ...[...args, "--enforce_recommended", "--output_dir", temporary.path],
      // By default the suite leaves out messages of editions. 2023 is the newest that it has.
      ...["--maximum_edition", "2023"],
      ...[process.execPath, resolve(root, folder, "testee/main.ts"), way],
    ],
    {
      ...{ cwd: root, timeout: suiteTimeoutMs, stdio: ["ignore", "inherit", "pipe"] },
      ...{ encoding: "utf8", maxBuffer: Number.POSITIVE_INFINITY },
    },
  );
  process.stdout.write(`\n${way}\n${stderr}`);
  // The first of two summaries. The second is of the text format: all skipped.
  const [, passed, failed] =
    /^CONFORMANCE SUITE \w+: (\d+) successes, .* (\d+) unexpected failures/m.exec(stderr) ?? [];
  if (passed === undefined) throw new Error(`the suite came to no end over ${way}`);
  // The suite passes a program that skips every test, too.
  const counts = `${passed} passed, ${failed} failed`;
  if (status !== 0 || passed === "0") throw new Error(counts);
  return counts;
}

function run(command: string, args: readonly string[]): void {
  execFileSync(command, args, { cwd: root, stdio: "inherit" });
}
