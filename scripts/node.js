/**
 * Runs a script with the Node of the checkout, whatever Node and npm the machine has:
 * `node scripts/node.js FILE [ARGUMENT ...]`. Plain JavaScript, for Node 20.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const platform = process.platform === "win32" ? "win" : process.platform;
const program = process.platform === "win32" ? "node.exe" : "node";
const node = ["node", "node-bin"]
  .map((name) => `../node_modules/${name}-${platform}-${process.arch}/bin/${program}`)
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(path));

if (node === undefined) fail(`no Node for ${platform}-${process.arch} in node_modules; run npm ci`);

// Use the sources of connect-gateway, not its last build.
const options = [process.env.NODE_OPTIONS, "--conditions=connect-gateway-source"];
const env = { ...process.env, NODE_OPTIONS: options.join(" ").trim() };
const child = spawn(node, process.argv.slice(2), { stdio: "inherit", env });
child.on("error", (error) => fail(`cannot run ${node}: ${error.message}`));
for (const signal of ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2"])
  process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code ?? 1);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});

// npm runs this file through a shell, which a SIGTERM to npm ends without notifying its child.
const parent = process.ppid;
const watch = setInterval(() => {
  if (process.ppid === parent) return;
  clearInterval(watch);
  child.kill("SIGTERM");
}, 250).unref();

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
