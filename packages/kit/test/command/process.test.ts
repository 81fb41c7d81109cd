/** Signals to process 1 of a container, which gets only those that it handles. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

const module = new URL("../../src/command/process.ts", import.meta.url).href;

/** Runs a script as process 1. @returns its exit code. */
function runFirst(script: string) {
  const code = `import { listenForStop, obeySignals } from "${module}"; obeySignals(); ${script}`;
  const args = ["-Urpf", process.execPath, "--input-type=module", "--eval", code];
  return spawnSync("unshare", args, { timeout: 60_000 }).status;
}

const canBeFirst = runFirst("") === 0;
const kill = 'process.kill(1, "SIGTERM");';
const survive = "setTimeout(() => process.exit(7), 10_000);";

test.runIf(canBeFirst).each([
  ["the first, while the program starts", `${survive} ${kill}`, 143],
  [
    "the second, while it drains",
    `${survive} listenForStop().signal.onabort = () => setInterval(() => { ${kill} }, 100); ${kill}`,
    143,
  ],
  [
    "none at once, when it has started",
    `listenForStop().signal.onabort = () => process.exit(3); ${kill}; ${survive}`,
    3,
  ],
])("it is ended by %s", (_what, script, code) => {
  expect(runFirst(script)).toBe(code);
});
