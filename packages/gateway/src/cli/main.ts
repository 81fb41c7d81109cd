#!/usr/bin/env node
import { runCommand } from "./program.ts";

// Whoever reads our output may go away; that is no reason to stop serving.
process.stdout.on("error", () => {});
process.stderr.on("error", () => {});
process.exitCode = await runCommand(process.argv.slice(2));
