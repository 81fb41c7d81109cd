/**
 * A server of a soak: logs to a file, as under a service manager, and reports its resources on
 * request.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  copyFileSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { findToken } from "../../../packages/proxy/test/support/token-leaks.ts";
import { environmentWithoutSettings, main, nodeOptions } from "../../support/child.ts";
import { collectOutput } from "../../support/output.ts";
import { isComplaint } from "../complaint.ts";
import { patienceMs } from "../start-server.ts";
import { inMebibytes, type Sample } from "./sample.ts";

export interface SoakServerOptions {
  readonly name: string;
  /** The directory of its log. */
  readonly folder: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The size of its store's write-ahead log, in bytes. */
  readonly walBytes: () => number;
}

const preload = fileURLToPath(new URL("measure-child.js", import.meta.url));

export class SoakServer implements AsyncDisposable {
  readonly #options: SoakServerOptions;
  readonly #child: ChildProcess;
  readonly #log: string;
  readonly #ended: Promise<unknown[]>;
  readonly url: string;

  static async start(options: SoakServerOptions): Promise<SoakServer> {
    const log = join(options.folder, `${options.name}.log`);
    // Appends at the end of the file, wherever that is: rotation truncates it.
    const logFile = openSync(log, "a");
    const child = spawn(process.execPath, [main, "serve", ...options.args], {
      cwd: options.folder,
      env: {
        ...environmentWithoutSettings(),
        ...options.env,
        NODE_OPTIONS: nodeOptions({ NODE_OPTIONS: `--import ${preload}` }),
      },
      stdio: ["ignore", "pipe", logFile, "ipc"],
    });
    closeSync(logFile);
    const ended = once(child, "close");
    ended.catch(() => {});
    if (child.stdout === null) throw new Error("a child without its output");
    const output = collectOutput(child.stdout, "stdout");
    try {
      const [, url = ""] = await output.until(/listens on (\S+)/, patienceMs);
      return new SoakServer(options, { child, log, ended, url });
    } catch (cause) {
      child.kill("SIGKILL");
      throw new Error(`the server ${options.name} did not start: ${readFileSync(log)}`, { cause });
    }
  }

  private constructor(
    options: SoakServerOptions,
    started: { child: ChildProcess; log: string; ended: Promise<unknown[]>; url: string },
  ) {
    this.#options = options;
    this.#child = started.child;
    this.#log = started.log;
    this.#ended = started.ended;
    this.url = started.url;
  }

  get name(): string {
    return this.#options.name;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async sample(life: string): Promise<Sample> {
    const answer = once(this.#child, "message");
    this.#child.send("measure");
    const [usage] = await within(`what ${this.name} takes up`, answer, patienceMs);
    const { memory, objects, code, external, delayMs } = usage as Record<string, number>;
    return {
      server: this.name,
      life,
      atMs: Date.now(),
      values: {
        memory: inMebibytes(memory ?? 0),
        objects: inMebibytes(objects ?? 0),
        code: inMebibytes(code ?? 0),
        external: inMebibytes(external ?? 0),
        files: readdirSync(`/proc/${this.#child.pid}/fd`).length,
        delay: delayMs ?? 0,
        wal: inMebibytes(this.#options.walBytes()),
      },
    };
  }

  /**
   * Like logrotate's `copytruncate`. @returns a line for everything that the log should not
   * contain.
   */
  rotateLog(complaints: "any" | "no complaints"): string[] {
    if (statSync(this.#log).size === 0)
      return [`${this.name}: nothing was logged since the last rotation`];
    copyFileSync(this.#log, `${this.#log}.1`);
    truncateSync(this.#log);
    const text = readFileSync(`${this.#log}.1`, "utf8");
    const token = findToken(text, "log");
    const wrong = complaints === "any" ? [] : text.split("\n").filter(isComplaint);
    return [
      ...wrong.map((line) => `${this.name} logged ${line}`),
      ...(token === undefined ? [] : [`${this.name} logged a token`]),
    ];
  }

  /** Sends SIGTERM. @returns the exit code. */
  async drain(): Promise<unknown> {
    this.#child.kill("SIGTERM");
    const [code] = await within(`the end of ${this.name}`, this.#ended, patienceMs);
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended.catch(() => {});
  }
}
