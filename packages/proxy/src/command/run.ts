import { type Command, CommanderError, Help } from "commander";
import { WrongSettings } from "../settings/read.ts";
import { CommandFailure } from "./command-failure.ts";
import { describeListenError } from "./listen-error.ts";

/**
 * Runs one command line, without the program's name. Never throws.
 *
 * @param explain Tells of an error that an operator can fix: in one line, and with its exit code.
 * @returns the exit code: 0 done, 1 failed, 2 a setting or the command line is wrong.
 */
export async function runCommandLine(
  program: Command,
  args: readonly string[],
  explain: (error: Error) => Explanation | undefined,
): Promise<number> {
  const prefix = `${program.name()}: `;
  program.configureHelp({ formatItem }).configureOutput({
    outputError: (text, write) => write(text.replace(/^error: /, prefix)),
  });
  for (const command of withSubcommands(program)) {
    command.exitOverride().copyInheritedSettings(program);
  }
  try {
    await program.parseAsync(args[0] === "version" ? ["--version"] : args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const { lines, exitCode } = explainAny(error, explain);
    for (const line of lines) process.stderr.write(`${prefix}${line}\n`);
    return exitCode;
  }
}

export interface Explanation {
  readonly lines: readonly string[];
  readonly exitCode: number;
}

/** One line for what an operator can fix; the whole stack for what only we can. */
function explainAny(
  error: unknown,
  explain: (error: Error) => Explanation | undefined,
): Explanation {
  if (!(error instanceof Error)) return { lines: [String(error)], exitCode: 1 };
  if (error instanceof WrongSettings) return { lines: error.lines, exitCode: 2 };
  const { message } = error;
  if (error instanceof CommandFailure) return { lines: [message], exitCode: error.exitCode };
  const listening = describeListenError(error);
  if (listening !== undefined) return { lines: [listening], exitCode: 1 };
  return explain(error) ?? { lines: [error.stack ?? message], exitCode: 1 };
}

/** Below a long flag where there is no room beside it, or terminals would break words. */
function formatItem(term: string, termWidth: number, text: string, help: Help): string {
  const width = help.helpWidth ?? 80;
  const isWide = text === "" || width - termWidth >= 60;
  if (isWide) return Help.prototype.formatItem.call(help, term, termWidth, text, help);
  return `  ${term}\n${help.boxWrap(text, width - 8).replaceAll(/^/gm, " ".repeat(8))}`;
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}
