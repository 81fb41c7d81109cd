#!/usr/bin/env node
/** The plugin as a program: reads a request from stdin, writes a response to stdout. */
import { readFileSync, writeSync } from "node:fs";
import { runPlugin } from "./plugin.ts";

const response = runPlugin(readFileSync(0), (path) => readFileSync(path, "utf8"));
for (let written = 0; written < response.length; ) written += writeSync(1, response, written);
