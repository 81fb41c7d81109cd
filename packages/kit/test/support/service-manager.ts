import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Stands in for systemd: its variables, and a `systemd-notify` that says how it was run. */
export async function createServiceManager(folder: string) {
  const told = join(folder, "told");
  await run("mkfifo", [told]);
  const program = `#!/bin/sh\necho "$NOTIFY_SOCKET $*" > ${told}\n`;
  await writeFile(join(folder, "systemd-notify"), program, { mode: 0o755 });
  const path = [folder, process.env["PATH"]].join(delimiter);
  return {
    env: { PATH: path, NOTIFY_SOCKET: "/run/systemd/notify" },
    /** Resolves once it was run. */
    told: () => readFile(told, "utf8"),
  };
}
