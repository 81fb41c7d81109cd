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
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { runTool, Unavailable } from "../../packages/gateway/test/support/tool.ts";
import { spawnServer } from "../support/child-server.ts";
import { knownToken } from "../support/test-server.ts";

const maxExamples = "50";
const seed = "1";

const counts = { passed: 0, failed: 0, skipped: 0 };
await using folder = await createTemporaryFolder();
try {
  const bin = await createVenv(folder.path, join(import.meta.dirname, "requirements.txt"));
  await count("catalog", () => tryCatalog(bin));
  await count("plant store", () => tryPlantStore(bin));
} catch (error) {
  if (!(error instanceof Unavailable)) throw error;
  counts.skipped = 2;
  print(`skipped: ${error.message}`);
}
const { passed, failed, skipped } = counts;
print(`\nschemathesis: ${passed} passed, ${failed} failed, ${skipped} skipped`);
if (failed > 0) process.exitCode = 1;

async function tryCatalog(bin: string): Promise<string> {
  const document = join(folder.path, "catalog.json");
  await writeFile(document, JSON.stringify(createOpenApiDocument([CatalogService])));
  await using server = await startCatalog(folder.path);
  return await check(bin, document, [`http://127.0.0.1:${server.port}`]);
}

async function tryPlantStore(bin: string): Promise<string> {
  await using server = await spawnServer({ cwd: folder.path });
  const token = ["--header", `Authorization: Bearer ${knownToken}`];
  return await check(bin, resolve("gen/openapi.json"), [server.url, ...token]);
}

/** @returns how many requests it has made. @throws {Error} with its report, for a failure. */
async function check(
  bin: string,
  document: string,
  [url = "", ...others]: readonly string[],
): Promise<string> {
  const config = ["--config-file", join(import.meta.dirname, "schemathesis.toml"), "--no-color"];
  const bounds = ["--max-examples", maxExamples, "--seed", seed, "--request-timeout", "10"];
  const args = [...config, "run", document, "--url", url, ...bounds, ...others];
  const hooks = { SCHEMATHESIS_HOOKS: "hooks", PYTHONPATH: import.meta.dirname };
  const env = { ...hooks, PYTHONDONTWRITEBYTECODE: "1" };
  const output = await runTool(folder.path, [join(bin, "schemathesis"), ...args], env);
  return /^.*generated.*$/m.exec(output)?.[0].trim() ?? output;
}

async function count(name: string, run: () => Promise<string>): Promise<void> {
  try {
    print(`${name}: passed: ${await run()}`);
    counts.passed++;
  } catch (error) {
    counts.failed++;
    print(`${name}: failed: ${error}`);
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
