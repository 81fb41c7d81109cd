#!/usr/bin/env node
import { setDefaultHighWaterMark } from "node:stream";
import { runCommand } from "./program.ts";

// Node's 64 KiB are held several times by each caller that does not read its stream.
setDefaultHighWaterMark(false, 16 * 1024);

// Whoever reads our output may go away; that is no reason to stop serving.
process.stdout.on("error", () => {});
process.stderr.on("error", () => {});
process.exitCode = await runCommand(process.argv.slice(2));
