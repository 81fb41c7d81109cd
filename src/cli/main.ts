#!/usr/bin/env node
import module from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** `engines` of package.json. An older Node cannot load the modules that could read it there. */
const minorMin: Readonly<Record<number, number>> = { 22: 23, 24: 15 };
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 26 && minor < (minorMin[major] ?? Number.POSITIVE_INFINITY)) {
  process.stderr.write(
    `plant-store: needs Node 22.23, 24.15, 26 or later; this is Node ${process.versions.node}\n`,
  );
  process.exitCode = 1;
} else {
  keepCompiledCode();
  (await import("connect-gateway-kit/command/process")).obeySignals();
  const { runCommand } = await import("./program.ts");
  // The reader of our output may go away. The server goes on.
  process.stdout.on("error", () => {});
  process.stderr.on("error", () => {});
  process.exitCode = await runCommand(process.argv.slice(2));
}

/** Caches compiled code for the next start, if the folder is writable. */
function keepCompiledCode(): void {
  const home = findHome();
  // Anyone who can write there can run code. So the folder never depends on the working directory.
  if (isAbsolute(home)) module.enableCompileCache(join(home, ".cache", "plant-store"));
}

function findHome(): string {
  try {
    return homedir();
  } catch {
    return ""; // a user that the system does not know
  }
}
