import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

export interface ShellOptions {
  readonly cwd: string;
  readonly timeoutMs: number;
  /** On top of the environment, less what npm has added to it. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface ShellResult {
  readonly stdout: string;
  readonly stderr: string;
  /** Why it is not well, if it is not. */
  readonly problem: string | undefined;
}

/** Runs one line of a shell to its end, or ends all that it started. */
export async function runLine(line: string, options: ShellOptions): Promise<ShellResult> {
  const { cwd, timeoutMs, env } = options;
  const child = spawn("sh", ["-c", line], {
    cwd,
    env: { ...environmentWithoutNpm(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const exited = once(child, "exit");
  // The whole group: a line starts programs that start programs.
  const end = () => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  };
  const interrupt = () => {
    end();
    process.exit(130);
  };
  for (const signal of signals) process.once(signal, interrupt);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    end();
  }, timeoutMs);
  try {
    const [stdout, stderr, [code, signal]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      exited,
    ]);
    const problem = isLate ? `not done in ${timeoutMs / 1000} s` : `exit code ${code ?? signal}`;
    return { stdout, stderr, problem: code === 0 ? undefined : problem };
  } finally {
    clearTimeout(timer);
    for (const signal of signals) process.off(signal, interrupt);
  }
}

const signals = ["SIGINT", "SIGTERM"] as const;

/** The npm of an example is not to take the settings of the npm that runs this. */
function environmentWithoutNpm(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/.test(name)));
}
