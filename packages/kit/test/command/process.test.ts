/** What signals do. Process 1 of a container gets only those that it handles. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

const module = new URL("../../src/command/process.ts", import.meta.url).href;

function run(script: string, command = process.execPath, before: readonly string[] = []) {
  const code = `import { listenForStop, obeySignals } from "${module}"; obeySignals(); ${script}`;
  const args = [...before, "--input-type=module", "--eval", code];
  return spawnSync(command, args, { timeout: 60_000 }).status;
}

/** As process 1. */
const runFirst = (script: string) => run(script, "unshare", ["-Urpf", process.execPath]);
const canBeFirst = runFirst("") === 0;
const kill = 'process.kill(1, "SIGTERM");';
const onStop = "listenForStop().signal.onabort = () =>";
const survive = "setTimeout(() => process.exit(7), 10_000);";

test.runIf(canBeFirst).each([
  ["the first, while the program starts", `${survive} ${kill}`, 143],
  ["the second", `${survive} ${onStop} setInterval(() => { ${kill} }, 100); ${kill}`, 143],
  ["none at once, when it has started", `${onStop} process.exit(3); ${kill}; ${survive}`, 3],
])("it is ended by %s", (_what, script, code) => {
  expect(runFirst(script)).toBe(code);
});

test("SIGUSR1 ends any process, and opens no debugger", () => {
  expect(run(`process.kill(process.pid, "SIGUSR1"); ${survive}`)).toBe(138);
});
