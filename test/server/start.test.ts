/** A start that fails leaves nothing behind, and one that succeeds says where it is. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { TokenFileError } from "connect-gateway-proxy/auth";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { createRecordedLog } from "../../packages/proxy/test/support/recorded-log.ts";
import { startServer } from "../../src/server/start.ts";
import { StoreOpenError } from "../../src/store/open-error.ts";
import { knownToken, openTestServer } from "../support/test-server.ts";

describe("a start that fails", () => {
  test("because the port is in use closes the store, so that the next one can open it", async () => {
    await using folder = await createTemporaryFolder();
    const database = join(folder.path, "plants.db");
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    await expect(openTestServer({ database, port })).rejects.toMatchObject({ code: "EADDRINUSE" });
    other.close();
    await using server = await openTestServer({ database });
    expect(server.port).not.toBe(port);
  });

  test("because the port is in use closes its traces", async () => {
    vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    const { TracerProvider } = await import("@opentelemetry/sdk-trace");
    const shutdown = vi.spyOn(TracerProvider.prototype, "shutdown");
    onTestFinished(() => void [vi.unstubAllEnvs(), shutdown.mockRestore()]);
    await using first = await openTestServer();
    await expect(openTestServer({ port: first.port })).rejects.toMatchObject({
      code: "EADDRINUSE",
    });
    expect(shutdown).toHaveBeenCalledTimes(1);
  });

  test("because of its store leaves the port free", async () => {
    await using folder = await createTemporaryFolder();
    const database = join(folder.path, "plants.db");
    writeFileSync(database, "a text that is no database at all, and long enough to be sure");
    await expect(openTestServer({ database })).rejects.toThrow(StoreOpenError);
  });

  test("because of its token file opens no store", async () => {
    await using folder = await createTemporaryFolder();
    const tokenFile = join(folder.path, "tokens");
    writeFileSync(tokenFile, "no token file\n");
    const database = join(folder.path, "plants.db");
    const options = { database, auth: { tokenFile } };
    await expect(openTestServer(options)).rejects.toThrow(TokenFileError);
    writeFileSync(tokenFile, "");
    await using server = await openTestServer(options);
    expect(server.running.firstToken).toMatch(/^plst_/);
  });
});

describe("a server", () => {
  test("is closed once, whoever asks for it", async () => {
    await using server = await openTestServer();
    expect(server.running.close()).toBe(server.running.close());
  });

  test.each([
    ["127.0.0.1", "127.0.0.1"],
    ["localhost", "localhost"],
    ["0.0.0.0", "127.0.0.1"],
    ["::1", "[::1]"],
    ["::", "[::1]"],
  ])("that listens on %s has a URL of %s that can be called", async (host, name) => {
    await using folder = await createTemporaryFolder();
    const options = {
      host,
      port: 0,
      store: `sqlite:${join(folder.path, "plants.db")}`,
      auth: { tokenFile: undefined, tokens: [knownToken] },
      log: createRecordedLog(),
    };
    const server = await startServer(options).catch((error: { code?: string }) => error.code);
    // Not every machine has IPv6.
    if (server === "EADDRNOTAVAIL" || server === "EAFNOSUPPORT") return;
    if (typeof server !== "object") throw new Error(`did not start: ${server}`);
    try {
      expect(server.url).toMatch(`http://${name}:`);
      const response = await fetch(`${server.url}/healthz`);
      expect(await response.json()).toEqual({ status: "ok" });
    } finally {
      await server.close();
    }
  });
});
