import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { environment } from "../support/tool.ts";
import { within } from "../support/within.ts";

/** Node, for a program that imports our packages: it gets their sources. */
export const nodeOfSources = [process.execPath, "--conditions=connect-gateway-source"] as const;

/** A running server program. */
export interface ServerProcess extends AsyncDisposable {
  readonly port: number;
  /** The next line of its output. */
  nextLine(): Promise<string>;
  /** Sends SIGTERM. */
  terminate(): void;
  /** Sends SIGHUP. */
  hangUp(): void;
  /** What it has written to stderr. */
  errors(): string;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<unknown>;
}

/** @throws {Error} what the program writes, if it ends instead of listening. */
export async function startServer(
  [file = "", ...args]: readonly string[],
  cwd: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<ServerProcess> {
  const child = spawn(file, args, {
    cwd,
    env: { ...environment, ...variables },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close").then(([code, signal]) => code ?? signal);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });

  async function nextLine(): Promise<string> {
    const { value, done } = await within("a line of the server", lines.next());
    if (done !== true) return value;
    await ended;
    throw new Error(errors);
  }
  async function end(): Promise<void> {
    child.kill("SIGKILL");
    await ended;
  }

  try {
    const port = Number(/^listening on (?:https?:\S*:)?(\d+)/.exec(await nextLine())?.[1]);
    return {
      port,
      nextLine,
      errors: () => errors,
      terminate: () => void child.kill("SIGTERM"),
      hangUp: () => void child.kill("SIGHUP"),
      ended,
      [Symbol.asyncDispose]: end,
    };
  } catch (error) {
    await end();
    throw error;
  }
}
