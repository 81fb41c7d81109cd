import { appendFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { createToken } from "../../src/auth/token-file.ts";
import { readTokenFile } from "../../src/auth/token-file-read.ts";
import { type TokenFileWatch, watchTokenFile } from "../../src/auth/token-file-watch.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

let file: string;
let changes: string[][];
let problems: string[];
let whenChanged: () => void;
let watch: TokenFileWatch;

beforeEach(async () => {
  file = join(await temporaryFolder(), "tokens");
  changes = [];
  problems = [];
  whenChanged = () => {};
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  watch = watchTokenFile({
    file,
    version: "missing",
    onChange: ({ log }) => {
      changes.push([...log.live.keys()]);
      whenChanged();
    },
    report: (message) => problems.push(message),
  });
  onTestFinished(() => {
    watch.close();
    vi.useRealTimers();
  });
});

/** One check of the file, from one timer to the next. */
async function look(): Promise<void> {
  vi.advanceTimersByTime(250);
  while (vi.getTimerCount() === 0) await new Promise((resolve) => setImmediate(resolve));
  expect(vi.getTimerCount()).toBe(1);
}

async function makeUnreadable(): Promise<void> {
  await rm(file, { recursive: true, force: true });
  await mkdir(file);
}

test("reports a change once", async () => {
  await look();
  await createToken(file, "ada");
  await look();
  await look();
  await createToken(file, "bob");
  await look();
  await rm(file);
  await look();
  await look();
  expect(changes).toEqual([["ada"], ["ada", "bob"], []]);
  expect(problems).toEqual([]);
});

test("reports an unreadable file once, however long it lasts, and again the next time", async () => {
  await makeUnreadable();
  await look();
  await look();
  await look();
  expect(problems).toHaveLength(1);
  await rm(file, { recursive: true });
  await look();
  await makeUnreadable();
  await look();
  expect(problems).toHaveLength(2);
  expect(changes).toEqual([]);
});

test("asked to check during a check, checks once more for all callers", async () => {
  const text = (name: string) => `create ${name} ${"0".repeat(64)} 2026-01-02T03:04:05Z\n`;
  await writeFile(file, text("ada"), { mode: 0o600 });
  const asked: Promise<void>[] = [];
  whenChanged = () => {
    whenChanged = () => {};
    appendFileSync(file, text("bob"));
    asked.push(watch.look(), watch.look());
  };
  await watch.look();
  expect(new Set(asked).size).toBe(1);
  await asked[0];
  expect(changes).toHaveLength(2);
  expect(vi.getTimerCount()).toBe(1);
});

test("asked to check after closing, does not", async () => {
  watch.close();
  await createToken(file, "ada");
  await watch.look();
  expect(changes).toEqual([]);
});

test("continues after its listener has thrown", async () => {
  const thrower = watchTokenFile({
    file,
    version: "other",
    onChange: () => {
      throw new Error("a bug");
    },
    report: (message) => problems.push(message),
  });
  watch.close();
  watch = thrower;
  await look();
  expect(problems).toEqual(["a bug"]);
  await look();
});

test("a change found while closing is not reported", async () => {
  await writeFile(file, "", { mode: 0o600 });
  vi.advanceTimersByTime(250);
  watch.close();
  // The same work as in the check, started later.
  for (let n = 0; n < 5; n++) await readTokenFile(file);
  expect(vi.getTimerCount()).toBe(0);
  expect(changes).toEqual([]);
});
