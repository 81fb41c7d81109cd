import {
  type CommandResult,
  runInProcess as run,
} from "../../packages/kit/test/support/run-in-process.ts";
import { watchForTokens } from "../../packages/kit/test/support/token-leaks.ts";
import { runCommand } from "../../src/cli/program.ts";

/**
 * Runs a command that ends by itself in this process. Do not run two at once: they share the
 * streams.
 *
 * @param env The complete settings.
 */
export function runInProcess(
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<CommandResult> {
  return run(runCommand, args, { ...(env && { env }), onOutput: watchForTokens });
}
