/**
 * A server of a soak: logs to a file, as under a service manager, and reports its resources on
 * request.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { findToken } from "../../../packages/kit/test/support/token-leaks.ts";
import { environmentWithoutSettings, main, nodeOptions } from "../../support/child.ts";
import { collectOutput } from "../../support/output.ts";
import { isComplaint, patienceMs } from "../server.ts";
import type { Sample } from "./report.ts";

interface SoakServerOptions {
  readonly name: string;
  /** The directory of its log. */
  readonly folder: string;
  readonly args: readonly string[];
  /** The size of its store's write-ahead log. */
  readonly walBytes: () => number;
}

export type SoakServer = Awaited<ReturnType<typeof startSoakServer>>;

const preload = fileURLToPath(new URL("measure-child.js", import.meta.url));

export async function startSoakServer({ name, folder, args, walBytes }: SoakServerOptions) {
  const log = join(folder, `${name}.log`);
  // Appends at the end of the file, wherever that is: rotation truncates it.
  const logFile = fs.openSync(log, "a");
  const child = spawn(process.execPath, [main, "serve", ...args], {
    cwd: folder,
    env: {
      ...environmentWithoutSettings(),
      NODE_OPTIONS: nodeOptions({ NODE_OPTIONS: `--import ${preload}` }),
    },
    stdio: ["ignore", "pipe", logFile, "ipc"],
  });
  fs.closeSync(logFile);
  const ended = once(child, "close");
  ended.catch(() => {});
  const output = collectOutput(child.stdout as Readable, "stdout");
  const [, url = ""] = await output.until(/listens on (\S+)/, patienceMs).catch((cause) => {
    child.kill("SIGKILL");
    throw new Error(`the server ${name} did not start: ${fs.readFileSync(log)}`, { cause });
  });
  return {
    ...{ name, url },
    async sample(): Promise<Sample> {
      const answer = once(child, "message");
      child.send("measure");
      const [usage] = await within(`what ${name} takes up`, answer, patienceMs);
      const { delayMs, ...bytes } = { ...usage, wal: walBytes() };
      const mebibytes = Object.entries(bytes).map(([what, size]) => [what, Number(size) / 2 ** 20]);
      const files = fs.readdirSync(`/proc/${child.pid}/fd`).length;
      const values = { ...Object.fromEntries(mebibytes), files, delay: delayMs };
      return { server: name, atMs: Date.now(), values };
    },
    /** Like logrotate's `copytruncate`. @returns a line for everything that the log must not have. */
    rotateLog(complaints: "any" | "no complaints"): string[] {
      if (fs.statSync(log).size === 0)
        return [`${name}: nothing was logged since the last rotation`];
      fs.copyFileSync(log, `${log}.1`);
      fs.truncateSync(log);
      const text = fs.readFileSync(`${log}.1`, "utf8");
      const wrong = complaints === "any" ? [] : text.split("\n").filter(isComplaint);
      if (findToken(text, "log") !== undefined) wrong.push("a token");
      return wrong.map((line) => `${name} logged ${line}`);
    },
    /** Sends SIGTERM. @returns a line if it does not end well, or had ended before. */
    async drain(): Promise<string[]> {
      const wasRunning = child.exitCode === null && child.signalCode === null;
      child.kill("SIGTERM");
      const [code] = await within(`the end of ${name}`, ended, patienceMs);
      return [
        ...(wasRunning ? [] : [`${name} ended by itself`]),
        ...(code === 0 ? [] : [`${name}: drained with exit code ${code}`]),
      ];
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended.catch(() => {});
    },
  };
}
