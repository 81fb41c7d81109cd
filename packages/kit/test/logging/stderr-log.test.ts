/** Lines on the standard error of a process of their own. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

const module = new URL("../../src/logging/logger.ts", import.meta.url).href;

/** Runs a script that has a `log`. */
function run(script: string) {
  const code = `import { createStderrLog } from "${module}"; const log = createStderrLog("auto"); ${script}`;
  const args = ["--input-type=module", "--eval", code];
  return spawnSync(process.execPath, args, { encoding: "utf8", timeout: 15_000, maxBuffer: 1e8 });
}

test("a line is JSON where no terminal is, with the cause under err", () => {
  const { stderr } = run(
    'log.warn("50%d", Object.assign(new TypeError("why"), { of: "Ada" })); log.info("on".repeat(1e5)); log.error("odd", "no error");',
  );
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const stack = expect.stringMatching(/^TypeError: why\n +at /);
  const lines = stderr.trim().split("\n");
  expect(lines.map((line): unknown => JSON.parse(line))).toEqual([
    { level: "warn", time, msg: "50%d", err: { type: "TypeError", message: "why", stack } },
    { level: "info", time, msg: "on".repeat(1e5) },
    { level: "error", time, msg: "odd" },
  ]);
});

test("a line is text where standard error is a terminal, whatever the output is", () => {
  const { stderr } = run(
    `const { default: tty } = await import("node:tty"); tty.isatty = (fd) => fd === 2;
     (await import("node:module")).syncBuiltinESMExports(); log.info("on");`,
  );
  expect(stderr).toMatch(/^\S+ info on\n$/);
});

test("the last line before the end is not lost", () => {
  const stderr = expect.stringMatching(/"the last"}\n$/);
  expect(run('log.error("the last"); process.exit(7);')).toMatchObject({ status: 7, stderr });
  const killed = run('log.error("the last"); process.kill(process.pid, "SIGKILL");');
  expect(killed).toMatchObject({ signal: "SIGKILL", stderr });
});

test("a disk that is full ends nothing, and lines are written again once there is room", () => {
  const full = 'throw Object.assign(new Error("full"), { code: "ENOSPC" });';
  const own = `(await import("${module}")).getLogger("auto").info("of a program");`;
  const much = (text: string) => `for (let i = 0; i < 2000; i++) log.info("${text}".repeat(3000));`;
  const { status, stderr } = run(
    `const { default: fs } = await import("node:fs"); const { writeSync } = fs;
     fs.writeSync = () => { ${full} }; ${own} ${much("x")}
     setImmediate(() => { fs.writeSync = writeSync; ${much("y")} });`,
  );
  expect(status).toBe(0);
  expect(stderr.match(/x{3000}/g)?.length).toBeLessThan(1500); // 4 MiB: the memory has an end
  expect(stderr.match(/y{3000}/g)?.length).toBeGreaterThan(1990);
});
