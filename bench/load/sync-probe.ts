/**
 * Repeatedly appends 4 KiB to a file and syncs it: `sync-probe.ts FILE SECONDS`. Prints the result
 * as JSON.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { Latencies } from "./latencies.ts";

const [file = "", seconds = ""] = process.argv.slice(2);
const page = Buffer.alloc(4096, 1);
const latencies = new Latencies();
const fd = openSync(file, "ax");
const end = performance.now() + Number(seconds) * 1000;
let at = performance.now();
do {
  writeSync(fd, page);
  fdatasyncSync(fd);
  const now = performance.now();
  latencies.add(now - at);
  at = now;
} while (at < end);
closeSync(fd);
process.stdout.write(JSON.stringify(latencies.quantiles()));
