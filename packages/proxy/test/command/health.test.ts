/** `health`, by which a container knows whether its server answers. */
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createCertificate, hasOpenssl } from "../../../gateway/test/support/certificate.ts";
import {
  createTemporaryFolder,
  type TemporaryFolder,
} from "../../../gateway/test/support/temporary-folder.ts";
import { runCommand, startCommand } from "../cli/command.ts";

let folder: TemporaryFolder;

beforeAll(async () => {
  folder = await createTemporaryFolder();
});

afterAll(() => folder[Symbol.asyncDispose]());

const upstream = ["--upstream", "http://127.0.0.1:1", "--reflection"];

test.each([
  ["all addresses", []],
  ["TLS", ["--tls-cert", "server.crt", "--tls-key", "server.key"]],
])("a server on %s is healthy, although its upstream is down", async (_name, args) => {
  if (args.length > 0 && !hasOpenssl) return;
  if (args.length > 0) createCertificate(folder.path, "server");
  const host = ["--host", "0.0.0.0"];
  await using server = await startCommand([...upstream, ...host, ...args], folder.path);
  const line = ["health", ...host, "--port", `${server.port}`, ...args.slice(0, 2)];
  expect(await runCommand(line, folder.path)).toEqual({ exitCode: 0, stdout: "", stderr: "" });
});

test.skipIf(!hasOpenssl)(
  "a server that requires client certificates is asked at its admin port",
  async () => {
    createCertificate(folder.path, "server");
    const tls = [
      "--tls-cert",
      "server.crt",
      "--tls-key",
      "server.key",
      "--tls-client-ca",
      "server.crt",
    ];
    await using server = await startCommand(
      [...upstream, ...tls, "--admin-port", "0"],
      folder.path,
    );
    const [, port = ""] = /^metrics on port (\d+)$/.exec(await server.nextLine()) ?? [];
    const line = ["health", ...tls.filter((_, i) => i < 2 || i > 3)];
    const ended = await runCommand([...line, "--admin-port", port], folder.path);
    expect(ended).toEqual({ exitCode: 0, stdout: "", stderr: "" });
    const { exitCode, stderr } = await runCommand(line, folder.path);
    expect(stderr).toContain("set --admin-port, which needs no client certificate");
    expect(exitCode).toBe(1);
  },
);

test.each([
  [200, 0, ""],
  [503, 1, "connect-gateway-proxy: /healthz answers 503\n"],
])("an answer %s on a Unix socket ends it with %s", async (status, exitCode, stderr) => {
  const path = join(folder.path, `${status}.sock`);
  await using server = createServer((_request, response) => response.writeHead(status).end());
  await once(server.listen(path), "listening");
  const { stdout: _, ...ended } = await runCommand(
    ["health", "--host", `unix:${path}`],
    folder.path,
  );
  expect(ended).toEqual({ exitCode, stderr });
});

test("without a server, it says why", async () => {
  const { exitCode, stderr } = await runCommand(["health", "--port", "1"], folder.path);
  expect(stderr).toMatch(/^connect-gateway-proxy: \/healthz cannot be asked: .*ECONNREFUSED.*\n$/);
  expect(exitCode).toBe(1);
});
