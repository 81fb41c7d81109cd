/** Pino is loaded late: then there may be no more files to open, which is no reason to end. */
import { writeSync } from "node:fs";
import { createRequire } from "node:module";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createStderrLog, loadLoggerSoon } from "../../src/logging/logger.ts";

vi.mock(import("node:fs"), async (original) => {
  const fs = await original();
  return { ...fs, writeSync: vi.fn(() => 0) as unknown as typeof fs.writeSync };
});
vi.mock(import("node:module"), async (original) => {
  const { createRequire, ...rest } = await original();
  return { ...rest, createRequire: vi.fn(createRequire) };
});

const require = vi.mocked(createRequire);
const original = require.getMockImplementation();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  require.mockClear();
  require.mockImplementation(() => {
    throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
  });
});

afterEach(() => {
  vi.useRealTimers();
  if (original !== undefined) require.mockImplementation(original);
});

test("what cannot be loaded is tried again, until it can", () => {
  loadLoggerSoon();
  vi.advanceTimersByTime(3000);
  expect(require).toHaveBeenCalledTimes(3);
  if (original !== undefined) require.mockImplementation(original);
  vi.advanceTimersByTime(10_000);
  expect(require).toHaveBeenCalledTimes(4);
});

test("a line is written all the same", () => {
  createStderrLog("json").warn("no more files", new Error("cause"));
  expect(writeSync).toHaveBeenCalledExactlyOnceWith(2, "warn: no more files\n");
});
