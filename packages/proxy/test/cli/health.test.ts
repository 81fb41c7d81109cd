/** `health`, by which a container knows whether its server answers. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { nodeOfSources } from "../../../gateway/test/runtimes/server-process.ts";
import { createCertificate, hasOpenssl } from "../../../gateway/test/support/certificate.ts";
import { environment } from "../../../gateway/test/support/tool.ts";
import { main, runProcess, useFolder } from "./command.ts";

const folder = useFolder();

const upstream = ["--upstream", "http://127.0.0.1:1", "--reflection"];

test.each([
  ["all addresses", []],
  ["TLS", ["--tls-cert", "server.crt", "--tls-key", "server.key", "--token-file", "tokens"]],
])("a server on %s is healthy, although its upstream is down", async (_name, args) => {
  if (args.length > 0 && !hasOpenssl) return;
  if (args.length > 0) createCertificate(folder.path, "server");
  const host = ["--host", "0.0.0.0"];
  await using server = await folder.start(...upstream, ...host, ...args);
  const line = ["health", ...host, "--port", `${server.port}`, ...args.slice(0, 2)];
  expect(await folder.run(...line)).toEqual({ exitCode: 0, stdout: "", stderr: "" });
  server.terminate();
  await server.ended;
  const warning = args.length === 0 ? "anybody may call" : "no token is valid";
  expect(server.errors().match(/anybody may call|no token is valid/g)).toEqual([warning]);
});

test.each([
  [200, 0, undefined],
  [404, 1, "answers 404: health is off there, or it is another server"],
  [307, 1, "answers 307"],
  [503, 1, "answers 503"],
  [0, 1, "does not answer within 4 s"],
])("an answer %s on a Unix socket ends it with %s", async (status, exitCode, problem) => {
  const path = join(folder.path, `${status}.sock`);
  await using server = createServer((_, to) => void (status && to.writeHead(status).end()));
  await once(server.listen(path), "listening");
  const stderr = problem === undefined ? "" : `connect-gateway-proxy: /healthz ${problem}\n`;
  const ended = await folder.run("health", "--host", `unix:${path}`);
  expect(ended).toMatchObject({ exitCode, stderr });
});

test.skipIf(process.platform === "win32")("a Unix socket is healthy, with its mode", async () => {
  const host = ["--host", "unix:own.sock"];
  await writeFile(join(folder.path, "own.yaml"), "socket-mode: '0620'\n");
  const [node, ...options] = nodeOfSources;
  const args = [...options, main, ...upstream, ...host, "--config", "own.yaml"];
  const server = spawn(node, args, { cwd: folder.path, env: environment });
  let errors = "";
  server.stderr.on("data", (text) => (errors += `${text}`));
  onTestFinished(() => void server.kill());
  const mode = async () => (await stat(join(folder.path, "own.sock"))).mode & 0o777;
  await expect.poll(mode).toBe(0o620);
  expect(await folder.run("health", ...host)).toMatchObject({ exitCode: 0 });
  // Another server does not take it away.
  const stderr = expect.stringMatching(/own\.sock: address already in|no such folder|too long/);
  for (const at of ["unix:own.sock", "unix:no/s", `unix:${"s".repeat(108)}`]) {
    const other = await runProcess([...upstream, "--host", at], folder.path);
    expect(other).toMatchObject({ exitCode: 1, stderr });
  }
  expect(await folder.run("health", ...host)).toMatchObject({ exitCode: 0 });
  expect(errors).not.toMatch(/without (?:TLS|tokens)/);
});

test.skipIf(!hasOpenssl)("where clients need a certificate, it asks the admin port", async () => {
  createCertificate(folder.path, "server");
  const tls = ["--tls-cert", "server.crt", "--tls-key", "server.key"];
  const args = [...tls, "--tls-client-ca", "server.crt"];
  const host = ["--host", "0.0.0.0"];
  await using server = await folder.start(...upstream, ...host, ...args, "--admin-port", "0");
  const [, port = ""] = /:(\d+)\/metrics$/.exec(await server.nextLine()) ?? [];
  const ofPort = ["health", "--tls-cert", "server.crt", ...args.slice(4)];
  expect(await folder.run(...ofPort, "--admin-port", port)).toMatchObject({ exitCode: 0 });
  const stderr = expect.stringContaining("set --admin-port");
  expect(await folder.run(...ofPort)).toMatchObject({ exitCode: 2, stderr });
  expect(server.errors()).not.toContain("anybody may call");
});

test.each([
  ["health --port 1", 1, /^connect-gateway-proxy: cannot request \/healthz: .*REFUSED.*:1\n$/],
  ["health --port 0", 2, /^connect-gateway-proxy: set --port to the one that the server printed/],
  ["token revoke a b", 2, /too many arguments for 'revoke'/],
  ["helth", 2, /^connect-gateway-proxy: unknown command 'helth'; give flags alone\n$/],
])("without a server to ask, %s says why", async (line, exitCode, message) => {
  const ended = await folder.run("--port", "2", ...line.split(" "));
  expect(ended).toEqual({ exitCode, stdout: "", stderr: expect.stringMatching(message) });
});
