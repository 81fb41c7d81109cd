#!/usr/bin/env node
import stream from "node:stream"; // without names, which Node 16 has not

// An older Node cannot load the modules that could read `engines`.
if ("22.10".localeCompare(process.versions.node, undefined, { numeric: true }) > 0) {
  process.stderr.write(
    `connect-gateway-proxy: needs Node 22.10 or later; this is Node ${process.versions.node}\n`,
  );
  process.exitCode = 1;
} else {
  // Node's 64 KiB are held several times by each caller that does not read its stream.
  stream.setDefaultHighWaterMark(false, 16 * 1024);
  (await import("connect-gateway-kit/command/process")).obeySignals();
  const { runCommand } = await import("./program.ts");
  // The reader of our output may go away. The server goes on.
  process.stdout.on("error", () => {});
  process.stderr.on("error", () => {});
  process.exitCode = await runCommand(process.argv.slice(2));
}
