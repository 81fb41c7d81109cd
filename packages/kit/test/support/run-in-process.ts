export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface InProcess {
  /** The complete settings. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Gets everything written so far. */
  readonly onOutput?: (text: string, stream: "stdout" | "stderr") => void;
}

/**
 * Runs a command line that ends by itself in this process, which takes a tenth of the time of a new
 * process. Do not run two at once: they share the streams.
 */
export async function runInProcess(
  run: (args: readonly string[]) => Promise<number>,
  args: readonly string[],
  { env = {}, cwd = process.cwd(), onOutput }: InProcess,
): Promise<CommandResult> {
  const written = { stdout: "", stderr: "" };
  const before = { cwd: process.cwd(), env: { ...process.env } };
  const originals = { stdout: process.stdout.write, stderr: process.stderr.write };
  for (const name of ["stdout", "stderr"] as const) {
    process[name].write = (chunk: string | Uint8Array, ...rest: readonly unknown[]) => {
      written[name] += chunk.toString();
      onOutput?.(written[name], name);
      const callback = rest.at(-1);
      if (typeof callback === "function") callback();
      return true;
    };
  }
  for (const name of Object.keys(process.env)) {
    if (/^(PLANT_STORE|CONNECT_GATEWAY)_/.test(name)) delete process.env[name];
  }
  Object.assign(process.env, env);
  process.chdir(cwd);
  try {
    return { code: await run(args), ...written };
  } finally {
    process.chdir(before.cwd);
    for (const name of ["stdout", "stderr"] as const) process[name].write = originals[name];
    for (const name of Object.keys(env)) delete process.env[name];
    Object.assign(process.env, before.env);
  }
}
