/** A process of the model upstream, at one address. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ConnectionFault } from "../../../packages/gateway/test/support/model-upstream/fault.ts";

const program = fileURLToPath(
  import.meta.resolve("../../../packages/gateway/test/support/model-upstream/main.ts"),
);

/** @param onServed Told the id of each call that it serves. */
export function createModel(host: string, onServed: (id: string) => void) {
  let child: ChildProcess | undefined;
  let ownPort = 0;
  return {
    host,
    /** Also after `kill`. @param port Default: that of the last start. @returns the port. */
    async start(port = ownPort): Promise<number> {
      const started = fork(program, [host, `${port}`]);
      child = started;
      const ended = once(started, "exit").then(() => Promise.reject(new Error("it has ended")));
      ended.catch(() => {});
      const [chosen] = await Promise.race([once(started, "message"), ended]);
      started.on("message", onServed);
      ownPort = Number(chosen);
      return ownPort;
    },
    inject: (fault: ConnectionFault) => child?.send(fault),
    signal: (name: "SIGSTOP" | "SIGCONT") => child?.kill(name),
    async kill(): Promise<void> {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}
