import { expect, test } from "vitest";
import { formatLine } from "../../src/logging/logger.ts";

const head = { level: "info", time: "2026-01-02T03:04:05.678Z" };

test.each<[string, object, string]>([
  ["a message", { msg: "stopped" }, "stopped"],
  ["fields", { method: "a.B/C", durationMs: 1.5, msg: "x" }, "x method=a.B/C durationMs=1.5"],
  ["what is not plain, quoted", { path: "/a b", msg: "x" }, 'x path="/a b"'],
  ["quotes, told from ours", { path: '"', msg: "x" }, 'x path="\\""'],
  ["an escape sequence", { principal: "\u001b[2J", msg: "x" }, 'x principal="\\u001b[2J"'],
  [
    "what JSON leaves alone, harmless",
    { principal: "\u009b\u202e\u007f", msg: "x" },
    'x principal="\\u009b\\u202e\\u007f"',
  ],
  ["an error", { err: { stack: "Error: y\n    at z" }, msg: "x" }, "x: Error: y\n    at z"],
  [
    "what others wrote in an error or a message, neither a line nor an escape sequence",
    {
      err: { stack: "Error: \u001b[2J\u009b\u202e\r\n\n2026 info\n  at z\ncaused by" },
      msg: "x\n\ufeff2026 é\u2028\u2029\u{e0041}",
    },
    "x\n    \\ufeff2026 é\\u2028\\u2029\\udb40\\udc41: Error: \\u001b[2J\\u009b\\u202e\\u000d\n    \n    2026 info\n  at z\n    caused by",
  ],
])("%s", (_, fields, text) => {
  const line = `${JSON.stringify({ ...head, ...fields })}\n`;
  expect(formatLine(line)).toBe(`${head.time} info ${text}\n`);
});
