/** A process of the model upstream, at one address. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { ConnectionFault } from "./fault.ts";

export class ModelProcess {
  readonly host: string;
  readonly #seed: number;
  /** Told the id of each call that it serves. */
  readonly #onServed: (id: string) => void;
  #child: ChildProcess | undefined;
  #port = 0;

  constructor(seed: number, host: string, onServed: (id: string) => void) {
    this.#onServed = onServed;
    this.#seed = seed;
    this.host = host;
  }

  /** Also after `kill`, at the same port. @param port Of another process. */
  async start(port: number = this.#port): Promise<number> {
    const args = [`${this.#seed}`, this.host, `${port}`];
    const child = fork(join(import.meta.dirname, "model-upstream.ts"), args);
    this.#child = child;
    const ended = once(child, "exit").then(() => Promise.reject(new Error("the model has ended")));
    ended.catch(() => {});
    const [chosen] = await Promise.race([once(child, "message"), ended]);
    this.#port = Number(chosen);
    child.on("message", this.#onServed);
    return this.#port;
  }

  inject(fault: ConnectionFault): void {
    this.#child?.send(fault);
  }

  signal(name: "SIGSTOP" | "SIGCONT"): void {
    this.#child?.kill(name);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }
}
