/** TLS of the plant store: files that are settings, and their renewal. */

import { once } from "node:events";
import { copyFileSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import tls from "node:tls";
import { SettingsError } from "connect-gateway-proxy/settings";
import { describe, expect, test } from "vitest";
import {
  createCertificate,
  hasOpenssl,
} from "../../../packages/gateway/test/support/certificate.ts";
import type { HttpVersion } from "../../../packages/gateway/test/support/http-exchange.ts";
import { createTemporaryFolder } from "../../../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { postPlant } from "../../support/plant-request.ts";
import { openTestServer } from "../../support/test-server.ts";

/** The common name of the certificate that the server shows. */
async function greet(port: number): Promise<unknown> {
  const socket = tls.connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  await within("the handshake", once(socket, "secureConnect"));
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return subject.CN;
}

describe.skipIf(!hasOpenssl)("with a certificate", () => {
  test.each<HttpVersion>(["1.1", "2"])("creates a plant over HTTP/%s", async (version) => {
    await using folder = await createTemporaryFolder();
    const { pem: ca, ...files } = createCertificate(folder.path, "one");
    await using server = await openTestServer({ tls: files });
    expect(server.url).toBe(`https://127.0.0.1:${server.port}`);
    const response = await postPlant(server.url, { version, ca });
    expect(response.status).toBe(200);
    expect(response.body.toString()).toBe('{"name":"Basil"}');
  });

  test("takes a renewed one once both files belong together, and says when they do not", async () => {
    await using folder = await createTemporaryFolder();
    const first = createCertificate(folder.path, "first");
    const second = createCertificate(folder.path, "second");
    const files = {
      certFile: join(folder.path, "live.crt"),
      keyFile: join(folder.path, "live.key"),
    };
    copyFileSync(first.certFile, files.certFile);
    copyFileSync(first.keyFile, files.keyFile);
    await using server = await openTestServer({ tls: files });
    renameSync(second.certFile, files.certFile);
    // Nothing tells when the watching has begun, so the file changes until it is seen.
    const seen = () => {
      utimesSync(files.certFile, new Date(), new Date());
      return server.log.lines.map(({ message }) => message);
    };
    await expect
      .poll(seen, { timeout: 8000, interval: 300 })
      .toContain("cannot load the new certificate; the old one stays in use");
    renameSync(second.keyFile, files.keyFile);
    // Nothing tells when a server has taken a certificate but a greeting.
    await expect.poll(() => greet(server.port), { timeout: 8000 }).toBe("second");
  });
});

test.each([
  ["are missing", undefined],
  ["are no PEM", "garbage"],
])("files for TLS that %s are an error of the settings", async (_what, text) => {
  await using folder = await createTemporaryFolder();
  const files = { certFile: join(folder.path, "a.crt"), keyFile: join(folder.path, "a.key") };
  if (text !== undefined) {
    for (const file of Object.values(files)) writeFileSync(file, text);
  }
  const start = openTestServer({ tls: files });
  await expect(start).rejects.toThrow(SettingsError);
  await expect(start).rejects.toThrow(/a\.crt/);
});
