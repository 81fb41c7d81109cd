#!/usr/bin/env node
import module from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** The least Node, as package.json has it. An older one could not even load what would look there. */
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `plant-store: needs Node 22.18 or later; this is Node ${process.versions.node}\n`,
  );
  process.exitCode = 1;
} else {
  keepCompiledCode();
  const { runCommand } = await import("./program.ts");
  // Whoever reads our output may go away; that is no reason to stop serving.
  process.stdout.on("error", () => {});
  process.stderr.on("error", () => {});
  process.exitCode = await runCommand(process.argv.slice(2));
}

/** The next start takes from there what this one compiled. Where nothing can be kept, nothing is. */
function keepCompiledCode(): void {
  const home = findHome();
  // Whoever can write there can run what they like: no folder that depends on the working directory.
  if (isAbsolute(home)) module.enableCompileCache(join(home, ".cache", "plant-store"));
}

function findHome(): string {
  try {
    return homedir();
  } catch {
    return ""; // a user that the system does not know
  }
}
