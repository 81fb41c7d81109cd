/** Lines on the standard error of a process of their own. */
import { spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { expect, test } from "vitest";

const module = new URL("../../src/logging/logger.ts", import.meta.url).href;

/** Runs a script that has a `log`. */
function run(script: string, stderr: "pipe" | number = "pipe") {
  const code = `import { createStderrLog } from "${module}"; const log = createStderrLog("auto"); ${script}`;
  const args = ["--input-type=module", "--eval", code];
  const timeout = 15_000;
  return spawnSync(process.execPath, args, {
    stdio: ["ignore", "pipe", stderr],
    encoding: "utf8",
    timeout,
  });
}

test("a line is JSON where no terminal is, with the cause under err", () => {
  const { stderr } = run(
    'log.warn("50%d", Object.assign(new TypeError("why"), { of: "Ada" })); log.info("on");',
  );
  const [warned, said] = stderr
    .trim()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  expect(warned).toEqual({
    level: "warn",
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    msg: "50%d",
    err: {
      type: "TypeError",
      message: "why",
      stack: expect.stringMatching(/^TypeError: why\n +at /),
    },
  });
  expect(said).toEqual({ level: "info", time: expect.any(String), msg: "on" });
});

test("the last line before the end is not lost", () => {
  expect(run('log.error("the last"); process.exit(7);')).toMatchObject({
    status: 7,
    stderr: expect.stringMatching(/"the last"}\n$/),
  });
  expect(run('log.error("the last"); process.kill(process.pid, "SIGKILL");')).toMatchObject({
    signal: "SIGKILL",
    stderr: expect.stringMatching(/"the last"}\n$/),
  });
});

test.runIf(process.platform === "linux")("a disk that is full ends nothing", () => {
  const full = openSync("/dev/full", "w");
  const own = `(await import("${module}")).getLogger("auto").info("of a program");`;
  const much = 'for (let i = 0; i < 2000; i++) log.info("x".repeat(100));';
  const end = run(
    `${own} ${much} setImmediate(() => { log.info("on"); console.log("alive"); });`,
    full,
  );
  closeSync(full);
  expect(end).toMatchObject({ status: 0, stdout: "alive\n" });
});
