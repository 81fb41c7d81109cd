import { once } from "node:events";
import { serveStdio } from "connect-gateway/mcp";
import { CommandFailure } from "./run.ts";

/** Serves MCP on standard input and output until the input ends, a signal or a failure. @throws {CommandFailure} */
export async function serveMcp(
  handler: (request: Request) => Promise<Response>,
  stop: AbortSignal,
  failed = stop,
): Promise<void> {
  const { stdin: input, stdout } = process;
  // Who has sent the signal reads no more: the Python SDK fails at an answer then. Of a failure, calls are told.
  const output = {
    write: (text: string, done: () => void) => (stop.aborted ? done() : stdout.write(text, done)),
  };
  // A call may wait for its answer, even if the input has ended.
  const ended = once(AbortSignal.any([stop, failed]), "abort").then(() => void input.destroy());
  try {
    await Promise.race([serveStdio(handler, { input, output }), ended]);
  } catch (error) {
    throw error instanceof RangeError ? new CommandFailure(1, error.message) : error;
  }
}
