import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { within } from "../../packages/gateway/test/support/within.ts";
import { collectOutput } from "./output.ts";

export const main = join(import.meta.dirname, "../../src/cli/main.ts");

/** Of a test run; a campaign starts the sources. */
const bundles = process.env["PLANT_STORE_TEST_PROGRAMS"];
/** What tests start. */
export const started = bundles === undefined ? main : join(bundles, "src/cli/main.js");

export type Child = ReturnType<typeof spawnChild>;

export interface ChildOptions {
  readonly cwd: string;
  /** Added to the environment of the tests, without their settings. */
  readonly env?: Readonly<Record<string, string>>;
  /** Its standard input, or `open`: the test writes to it. Default: none. */
  readonly stdin?: string;
  /** The maximum number of open files and connections. Default: that of the tests. */
  readonly filesMax?: number;
  /** Whether its output is a terminal: both streams are then in stdout. Needs `script`. */
  readonly terminal?: boolean;
  /** Its first file. Default: that of the bundle, if there is one. */
  readonly program?: string;
}

/** A `plant-store` process, started as a user would. Killed at the end of an `await using`. */
export function spawnChild(
  args: readonly string[],
  { cwd, env, stdin, filesMax, terminal = false, program = started }: ChildOptions,
) {
  const command = [process.execPath, program, ...args] as const;
  const inTerminal = `stty -onlcr; exec ${command.map((word) => `'${word}'`).join(" ")}`;
  const [file, ...all] = terminal
    ? (["script", "-qefc", inTerminal, "/dev/null"] as const)
    : filesMax === undefined
      ? command
      : (["/bin/sh", "-c", `ulimit -n ${filesMax}; exec "$0" "$@"`, ...command] as const);
  const child = spawn(file, all, {
    cwd,
    env: { ...environmentWithoutSettings(), ...env, NODE_OPTIONS: nodeOptions(env) },
  });
  if (stdin !== "open") child.stdin.end(stdin);
  const exited = once(child, "close").then(([code, signal]) => ({ code, signal }));
  return {
    process: child,
    stdout: collectOutput(child.stdout, "stdout"),
    stderr: collectOutput(child.stderr, "stderr"),
    /** Resolves when the process has ended and all its output has arrived. */
    exited,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await within("the end of the child", exited);
    },
  };
}

export const hasTerminal =
  process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;

export async function runChild(args: readonly string[], options: ChildOptions) {
  await using child = spawnChild(args, options);
  const { code } = await within(`the end of plant-store ${args.join(" ")}`, child.exited);
  return { code, stdout: child.stdout.text, stderr: child.stderr.text };
}

/** The options of the tests, which say where the sources of connect-gateway are. */
export function nodeOptions(env: ChildOptions["env"]): string {
  return [process.env["NODE_OPTIONS"], env?.["NODE_OPTIONS"]].join(" ").trim();
}

/** Additions by npm or the operator's shell would change what a command prints and does. */
export function environmentWithoutSettings(): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter((name) => !/^(PLANT_STORE_|npm_)/.test(name));
  return Object.fromEntries(names.map((name) => [name, process.env[name]]));
}
