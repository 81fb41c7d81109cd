import { serveStdio } from "connect-gateway/mcp";
import { CommandFailure } from "./run.ts";

/** Serves MCP on standard input and output until the input ends, or a signal does. @throws {CommandFailure} */
export async function serveMcp(
  handler: (request: Request) => Promise<Response>,
  stop: AbortSignal,
): Promise<void> {
  const { stdin: input, stdout: output } = process;
  const end = () => input.destroy();
  stop.addEventListener("abort", end);
  try {
    await serveStdio(handler, { input, output });
  } catch (error) {
    if (error instanceof RangeError) throw new CommandFailure(1, error.message);
    if (!stop.aborted) throw error; // it is the end of the input
  } finally {
    stop.removeEventListener("abort", end);
  }
}
