#!/usr/bin/env node
/** The plugin as a program: reads a request from stdin, writes a response to stdout. */
import { readFileSync, writeSync } from "node:fs";
import { runPlugin } from "./plugin.ts";

const input = 0;
const output = 1;

const response = runPlugin(readFileSync(input), (path) => readFileSync(path, "utf8"));
for (let written = 0; written < response.length; ) {
  written += writeSync(output, response, written);
}
