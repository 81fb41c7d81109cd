/** What a message quotes cannot move the cursor, nor look like another line. */
import { expect, test } from "vitest";
import { runInProcess } from "../support/run-in-process.ts";

const sqlite = "sqlite:a\x1b[31mb?x\nplant-store: forged";

test.each<[string, readonly string[]]>([
  ["serve", ["serve", "--store", sqlite]],
  ["check", ["check", "--store", sqlite]],
  ["copy", ["copy", "--from", sqlite, "--to", "sqlite:b"]],
  ["backup", ["backup", "file.db", "--store", sqlite]],
  ["config check", ["config", "check", "--config", "a\x1b[31m\nb"]],
  ["an unknown command", ["a\x1b[31mb"]],
  ["an unknown flag", ["serve", "--a\x1b[31mb"]],
])("%s", async (_command, args) => {
  const { stderr, code } = await runInProcess([...args]);
  expect(code).toBeGreaterThan(0);
  expect(stderr).toContain("\ufffd[31m");
  expect(stderr.trimEnd()).not.toMatch(/\p{Cc}/u);
});
