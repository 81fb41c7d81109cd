#!/usr/bin/env node
import { runCommand } from "./program.ts";

process.exitCode = await runCommand(process.argv.slice(2));
