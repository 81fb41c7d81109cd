/** The certificates for the upstreams, as files that change. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { expect, test } from "vitest";
import { createTemporaryFolder } from "../../../gateway/test/support/temporary-folder.ts";
import { watchUpstreamTls } from "../../src/cli/upstream-place.ts";

test("no connection is made without the CA, and one that was read stays in use", async () => {
  await using folder = await createTemporaryFolder();
  const caFile = join(folder.path, "ca.pem");
  const errors: unknown[] = [];
  const files = { caFile, client: undefined, serverName: undefined };
  const tls = watchUpstreamTls(files, (error) => errors.push(error));
  expect(tls).toThrow(`${caFile} cannot be used as a CA`);
  const [ca = ""] = rootCertificates;
  await writeFile(caFile, ca);
  expect(`${tls().ca}`).toBe(ca);
  await folder[Symbol.asyncDispose]();
  // Each connection reads them, but one line in the log will do.
  for (let i = 0; i < 2; i++) expect(`${tls().ca}`).toBe(ca);
  expect(errors).toHaveLength(1);
});
