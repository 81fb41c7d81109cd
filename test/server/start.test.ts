/** A start that fails leaves nothing behind, and one that succeeds says where it is. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { TokenFileError } from "connect-gateway-kit/auth/token-file";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../store/temporary.ts";
import { openTestServer } from "../support/test-server.ts";

describe("a start that fails", () => {
  test("because the port is in use closes its traces and its store, and leaves no token that nobody saw", async () => {
    vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    const { TracerProvider } = await import("@opentelemetry/sdk-trace");
    const shutdown = vi.spyOn(TracerProvider.prototype, "shutdown");
    onTestFinished(() => void [vi.unstubAllEnvs(), shutdown.mockRestore()]);
    const folder = await temporaryFolder();
    const database = join(folder, "plants.db");
    const options = { database, auth: { tokenFile: join(folder, "tokens") } };
    await using first = await openTestServer();
    const second = openTestServer({ ...options, port: first.port });
    await expect(second).rejects.toMatchObject({ code: "EADDRINUSE" });
    expect(shutdown).toHaveBeenCalledTimes(1);
    await using next = await openTestServer(options);
    expect(next.running.firstToken).toMatch(/^plst_/);
  });

  test("because of its token file opens no store", async () => {
    const folder = await temporaryFolder();
    const tokenFile = join(folder, "tokens");
    writeFileSync(tokenFile, "no token file\n");
    const options = { database: join(folder, "plants.db"), auth: { tokenFile } };
    await expect(openTestServer(options)).rejects.toThrow(TokenFileError);
    writeFileSync(tokenFile, "");
    await using server = await openTestServer(options);
    expect(server.running.firstToken).toMatch(/^plst_/);
  });
});

test.each([
  ["127.0.0.1", "127.0.0.1"],
  ["localhost", "localhost"],
  ["0.0.0.0", "127.0.0.1"],
  ["::1", "[::1]"],
  ["::", "[::1]"],
])("a server that listens on %s has a URL of %s that can be called", async (host, name) => {
  const server = await openTestServer({ host }).catch((error: { code?: string }) => error.code);
  // Not every machine has IPv6.
  if (server === "EADDRNOTAVAIL" || server === "EAFNOSUPPORT") return;
  if (typeof server !== "object") throw new Error(`did not start: ${server}`);
  await using _ = server;
  expect(server.url).toMatch(`http://${name}:`);
  expect(await (await fetch(`${server.url}/healthz`)).json()).toEqual({ status: "ok" });
});

test("what fails to close leaves nothing else open", async () => {
  const { running, database, port } = await openTestServer();
  running.program.defer(() => Promise.reject(new Error("stuck")));
  await expect(running.close()).rejects.toThrow("stuck");
  await (await openTestServer({ database, port })).close();
});
