/**
 * schemathesis asks the catalog and the plant store for what their OpenAPI documents allow, and for
 * what they do not. Brings it from PyPI; where that or Python cannot be had, it is skipped.
 */
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createOpenApiDocument } from "connect-gateway/openapi";
import { CatalogService } from "../../packages/gateway/test/support/catalog.ts";
import { startCatalog } from "../../packages/gateway/test/support/catalog-process.ts";
import { createVenv } from "../../packages/gateway/test/support/python-venv.ts";
import { createTally } from "../../packages/gateway/test/support/tally.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { runTool } from "../../packages/gateway/test/support/tool.ts";
import { spawnServer } from "../support/child-server.ts";
import { knownToken } from "../support/test-server.ts";

const maxExamples = "50";
const seed = "1";

using tally = createTally("schemathesis");
await using folder = await createTemporaryFolder();
const bin = createVenv(folder.path, join(import.meta.dirname, "requirements.txt"));
bin.catch(() => {});
await tally.add("catalog", tryCatalog);
await tally.add("plant store", tryPlantStore);

async function tryCatalog(): Promise<string> {
  const document = join(folder.path, "catalog.json");
  await writeFile(document, JSON.stringify(createOpenApiDocument([CatalogService])));
  await using server = await startCatalog(folder.path);
  return await check(document, `http://127.0.0.1:${server.port}`);
}

async function tryPlantStore(): Promise<string> {
  await using server = await spawnServer({ cwd: folder.path });
  const token = `Authorization: Bearer ${knownToken}`;
  return await check(resolve("gen/openapi.json"), server.url, "--header", token);
}

/** @returns how many requests it has made. @throws {Error} with its report, for a failure. */
async function check(document: string, url: string, ...others: readonly string[]): Promise<string> {
  const config = ["--config-file", join(import.meta.dirname, "schemathesis.toml"), "--no-color"];
  const bounds = ["--max-examples", maxExamples, "--seed", seed, "--request-timeout", "10"];
  const args = [...config, "run", document, "--url", url, ...bounds, ...others];
  const hooks = { SCHEMATHESIS_HOOKS: "hooks", PYTHONPATH: import.meta.dirname };
  const env = { ...hooks, PYTHONDONTWRITEBYTECODE: "1" };
  const output = await runTool(folder.path, [join(await bin, "schemathesis"), ...args], env);
  return /^.*generated.*$/m.exec(output)?.[0].trim() ?? output;
}
