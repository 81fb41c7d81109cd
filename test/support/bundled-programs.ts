/**
 * Bundles the programs once for a test run, as a build does: a start from the sources takes 0.65 s of
 * a processor, one of a bundle 0.2 s. For a few files, the sources are started.
 */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { bundleProgram, copyAssets, programs } from "../../scripts/bundle.ts";

const filesMin = 10;

export default async function setup({ vitest }: TestProject) {
  if (vitest.state.getPaths().length < filesMin) return undefined;
  const folder = await createTemporaryFolder();
  for (const [root, entries] of Object.entries(programs)) {
    const home = join(folder.path, root);
    await bundleProgram(root, home, entries);
    await cp(join(root, "package.json"), join(home, "package.json"));
  }
  copyAssets(folder.path);
  process.env["PLANT_STORE_TEST_PROGRAMS"] = folder.path;
  return async () => await folder[Symbol.asyncDispose]();
}
