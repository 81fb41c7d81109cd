/**
 * A linter reads OpenAPI documents, and clients that are generated from one call each of its
 * operations. Brings the tools from their registries; a client whose toolchain cannot be had is skipped. An argument
 * selects clients by name.
 */
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createOpenApiDocument } from "../../src/openapi/index.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { BookService } from "../gen/openapi/books/v1/books_pb.ts";
import { startServer } from "../runtimes/server-process.ts";
import { createTemporaryFolder } from "../support/temporary-folder.ts";
import { runTool, Unavailable } from "../support/tool.ts";
import { bookRules } from "./books.ts";
import { type Client, clients } from "./clients.ts";
import { lintBySpectral } from "./lint.ts";

const document = createOpenApiDocument([CatalogService, BookService], {
  title: "Catalog",
  version: "1.0.0",
  rest: { rules: bookRules },
});
const operations = [...JSON.stringify(document).matchAll(/"operationId":"[A-Za-z]+_(\w+)"/g)].map(
  ([, id = ""]) => id,
);
const [, , only] = process.argv;
const program = join(import.meta.dirname, "server.ts");
const counts = { passed: 0, failed: 0, skipped: 0 };

await using folder = await createTemporaryFolder();
const path = join(folder.path, "openapi.json");
await writeFile(path, JSON.stringify(document));
try {
  print(`spectral: no error in ${await lintBySpectral(folder.path)} documents`);
  counts.passed++;
} catch (error) {
  counts[error instanceof Unavailable ? "skipped" : "failed"]++;
  print(`spectral: ${error}`);
}
for (const client of clients.filter(({ name }) => only === undefined || name === only)) {
  try {
    await tryClient(client);
  } catch (error) {
    const outcome = error instanceof Unavailable ? "skipped" : "failed";
    counts[outcome] += operations.length;
    print(`${client.name}: ${outcome}: ${error}`);
  }
}
const { passed, failed, skipped } = counts;
print(`\nclients: ${passed} passed, ${failed} failed, ${skipped} skipped`);
if (failed > 0) process.exitCode = 1;

async function tryClient({ name, prepare }: Client): Promise<void> {
  const own = join(folder.path, name);
  await cp(join(import.meta.dirname, name), own, { recursive: true });
  await cp(join(import.meta.dirname, "operations.ts"), join(own, "operations.ts"));
  const [command, ...args] = await prepare(own, path);
  await using server = await startServer([process.execPath, program, "0"], own);
  const output = await runTool(own, [command, ...args, `http://127.0.0.1:${server.port}`]);
  const passed = operations.filter((id) => output.split("\n").includes(`passed ${id}`));
  counts.passed += passed.length;
  counts.failed += operations.length - passed.length;
  print(`${name}: ${passed.length} of ${operations.length} operations passed`);
  for (const line of output.split("\n").filter((one) => one.startsWith("failed "))) print(line);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
