/** A process of the model upstream, at one address. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ConnectionFault } from "../../../packages/gateway/test/support/model-upstream/fault.ts";

const program = fileURLToPath(
  import.meta.resolve("../../../packages/gateway/test/support/model-upstream/main.ts"),
);

export class ModelProcess {
  readonly host: string;
  /** Told the id of each call that it serves. */
  readonly #onServed: (id: string) => void;
  #child: ChildProcess | undefined;
  #port = 0;

  constructor(host: string, onServed: (id: string) => void) {
    this.#onServed = onServed;
    this.host = host;
  }

  /** Also after `kill`. @param port Default: that of the last start. @returns the port. */
  async start(port: number = this.#port): Promise<number> {
    const child = fork(program, [this.host, `${port}`]);
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
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }
}
