/** TLS of the plant store: files that are settings, and their renewal. */
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { copyFileSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  createCertificate,
  hasOpenssl,
} from "../../../packages/gateway/test/support/certificate.ts";
import { createTemporaryFolder } from "../../../packages/gateway/test/support/temporary-folder.ts";
import { scrape } from "../../support/scrape.ts";
import { openTestServer } from "../../support/test-server.ts";

const { privateKey } = generateKeyPairSync("ed25519");
const expiration = "plant_store_tls_certificate_expiration_timestamp_seconds";

describe.skipIf(!hasOpenssl)("with a certificate", () => {
  const expiryOf = (pem: string) => Date.parse(new X509Certificate(pem).validTo) / 1000;

  test.each(["off", "errors"] as const)(
    "is renewed as a pair, access log %s",
    async (accessLog) => {
      await using folder = await createTemporaryFolder();
      const first = createCertificate(folder.path, "first");
      const second = createCertificate(folder.path, "second", { days: 30 });
      const files = {
        certFile: join(folder.path, "live.crt"),
        keyFile: join(folder.path, "live.key"),
      };
      copyFileSync(first.certFile, files.certFile);
      copyFileSync(first.keyFile, files.keyFile);
      await using server = await openTestServer({ tls: files, adminPort: 0, accessLog });
      const expiry = async () => (await scrape(server.running.metricsUrl)).value(expiration);
      expect(await expiry()).toBe(expiryOf(first.pem));
      if (accessLog === "off") renameSync(second.certFile, files.certFile);
      // OpenSSL alone would take it.
      else writeFileSync(files.keyFile, privateKey.export({ type: "pkcs8", format: "pem" }));
      // Nothing tells when the watching has begun, so the file changes until it is seen.
      const seen = () => {
        utimesSync(files.certFile, new Date(), new Date());
        return server.log.lines.map(({ message }) => message);
      };
      await expect
        .poll(seen, { interval: 300 })
        .toContain("cannot load the new certificate; the old certificate stays in use");
      expect(await expiry()).toBe(expiryOf(first.pem));
      if (accessLog !== "off") renameSync(second.certFile, files.certFile);
      renameSync(second.keyFile, files.keyFile);
      await expect.poll(expiry).toBe(expiryOf(second.pem));
    },
  );
});

test("without one, its expiry is not in the metrics", async () => {
  await using server = await openTestServer({ adminPort: 0 });
  const { series, types } = await scrape(server.running.metricsUrl);
  expect(types.get(expiration)).toBe("gauge");
  expect(series.has(expiration)).toBe(false);
});
