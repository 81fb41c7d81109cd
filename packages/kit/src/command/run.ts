import { writeFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { getSystemErrorMap } from "node:util";
import { type Command, CommanderError, Help } from "commander";
import { TokenFileError } from "../auth/token-file.ts";
import { isBroken, notUtf8 } from "../settings/environment.ts";
import { SettingsError } from "../settings/schema.ts";

/**
 * Runs one command line, without the program's name. Never throws.
 * @param known The program's own errors that an operator can fix, by their message.
 * @returns the exit code: 0 done, 1 failed, 2 a setting or the command line is wrong.
 */
export async function runCommandLine(
  program: Command,
  args: readonly string[],
  known: readonly (abstract new (...args: never) => Error)[],
): Promise<number> {
  const prefix = `${program.name()}: `;
  program.configureHelp({ formatItem }).configureOutput({
    outputError: (text, write) =>
      write(printable(text.replace(/^error: /, prefix).split("\n")).join("\n")),
  });
  for (const command of withSubcommands(program)) {
    command.exitOverride().copyInheritedSettings(program);
  }
  let lost: NodeJS.ErrnoException | undefined;
  const onError = (error: Error) => {
    lost = error;
  };
  process.stdout.on("error", onError);
  try {
    for (const output of [process.stdout, process.stderr]) writeWhole(output);
    assertUtf8(args);
    const given = args[0] === "version" ? ["--version"] : args;
    await program.parseAsync(given, { from: "user" }).catch((error) => {
      if (error?.exitCode !== 0) throw error; // it was asked for help or the version
    });
    await setImmediate(); // an error of a write is emitted after it
    // A reader that closed the pipe has enough.
    if (lost !== undefined && lost.code !== "EPIPE") throw cannot("write", "standard output", lost);
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return 2;
    const { lines, exitCode } = failureOf(error, known);
    for (const line of lines) process.stderr.write(`${prefix}${line}\n`);
    return exitCode;
  } finally {
    process.stdout.off("error", onError);
  }
}

/** To a file on a disk that fills up, Node writes a part of the bytes, and says that it wrote all. */
function writeWhole(output: NodeJS.WriteStream & { fd: number; readonly _type?: string }): void {
  if (output._type !== "fs") return;
  output._write = (bytes, _encoding, done) => {
    try {
      writeFileSync(output.fd, bytes);
      done();
    } catch (error) {
      done(error as Error);
    }
  };
}

/** Node reads bytes that are not UTF-8 as U+FFFD: such a path would name another file. Shows no secret. */
function assertUtf8(args: readonly string[]): void {
  const index = args.findIndex(isBroken);
  const name = index === -1 ? "the path of the working folder" : `argument ${index + 1}`;
  if (index !== -1 || isBroken(workingFolder())) throw new CommandFailure(2, `${name} ${notUtf8}`);
}

function workingFolder(): string {
  try {
    return process.cwd();
  } catch {
    return ""; // it was deleted
  }
}

/** One line for errors that an operator can fix; the whole stack for defects. */
function failureOf(
  error: unknown,
  known: Parameters<typeof runCommandLine>[2],
): Pick<CommandFailure, "lines" | "exitCode"> {
  if (error instanceof CommandFailure)
    return { lines: printable(error.lines), exitCode: error.exitCode };
  if (error instanceof SettingsError) return { lines: printable(error.lines), exitCode: 2 };
  if (!(error instanceof Error)) return { lines: [String(error)], exitCode: 1 };
  const { message, stack = message } = error;
  if (error instanceof TokenFileError)
    return { lines: printable([message]), exitCode: error.code === "invalid_name" ? 2 : 1 };
  const line = known.some((one) => error instanceof one) ? message : describeSystemError(error);
  return { lines: line === undefined ? [stack] : printable([line]), exitCode: 1 };
}

/** Quoted text must not look like another line or move the cursor. */
function printable(lines: readonly string[]): readonly string[] {
  return lines.map((line) => line.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\ufffd"));
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

export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  readonly exitCode: 1 | 2 | 3;
  readonly lines: readonly string[];

  constructor(exitCode: 1 | 2 | 3, lines: string | readonly string[], options?: ErrorOptions) {
    super([lines].flat().join("; "), options);
    this.exitCode = exitCode;
    this.lines = [lines].flat();
  }
}

export function cannot(verb: string, path: string, error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
  return new CommandFailure(1, `cannot ${verb} ${path}: ${reasons.get(reason) ?? reason}`);
}

const reasons: ReadonlyMap<string, string> = new Map(getSystemErrorMap().values());

type SystemError = Error & {
  readonly [name in "syscall" | "code" | "hostname" | "address" | "path" | "listener"]?: string;
} & { readonly port?: number };

/** The reason why a file or an address cannot be used, and the flag to change. Else undefined. */
function describeSystemError(error: SystemError): string | undefined {
  const { syscall, address, path, port } = error;
  const flag = error.listener === "admin" ? "--admin" : "-";
  if (syscall === "uv_cwd") return "the working folder was deleted; change to one that exists";
  if (syscall === "getaddrinfo")
    return `${error.hostname} cannot be resolved; choose another ${flag}-host`;
  if (path !== undefined) return cannot("use", path, error).message;
  if (syscall !== "listen") return undefined;
  const hint = error.code === "EACCES" ? ", or there is no such folder" : ""; // libuv confuses them
  if (port === -1) return cannot("listen at", `unix:${address}`, error).message + hint;
  const place = `${address}${port === undefined ? "" : ` port ${port}`}`; // not for port 0
  switch (error.code) {
    case "EADDRINUSE":
      return `${place} is in use; choose another with ${flag}-port, or 0 for any free one`;
    case "EACCES":
      return `${place} needs more permissions; choose a ${flag}-port above 1023`;
    case "EADDRNOTAVAIL":
      return `${address} is not an address of this machine; choose another ${flag}-host`;
    default:
      return cannot("listen on", place, error).message;
  }
}
