import { once } from "node:events";
import { serveStdio } from "connect-gateway/mcp";
import { CommandFailure } from "./run.ts";

/** Serves MCP on standard input and output until the input ends, or a signal does. @throws {CommandFailure} */
export async function serveMcp(
  handler: (request: Request) => Promise<Response>,
  stop: AbortSignal,
): Promise<void> {
  const { stdin: input, stdout } = process;
  // Who has sent the signal reads no more: the Python SDK fails at an answer then.
  const output = {
    write: (text: string, done: () => void) => (stop.aborted ? done() : stdout.write(text, done)),
  };
  // A call may wait for its answer, even if the input has ended.
  const stopped = once(stop, "abort").then(() => void input.destroy());
  try {
    await Promise.race([serveStdio(handler, { input, output }), stopped]);
  } catch (error) {
    throw error instanceof RangeError ? new CommandFailure(1, error.message) : error;
  }
}
