/** The certificates for the upstreams, as files that change. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTemporaryFolder } from "../../../gateway/test/support/temporary-folder.ts";
import { watchUpstreamTls } from "../../src/cli/upstream-tls.ts";

test("no connection is made without the CA, and one that was read stays in use", async () => {
  await using folder = await createTemporaryFolder();
  const caFile = join(folder.path, "ca.pem");
  const errors: unknown[] = [];
  const files = { caFile, client: undefined, serverName: undefined };
  const tls = watchUpstreamTls(files, (error) => errors.push(error));
  expect(tls).toThrow(`${caFile} cannot be read`);
  await writeFile(caFile, "a CA");
  expect(`${tls().ca}`).toBe("a CA");
  await folder[Symbol.asyncDispose]();
  expect(`${tls().ca}`).toBe("a CA");
  expect(errors).toHaveLength(1);
});
