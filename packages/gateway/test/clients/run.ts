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
import { createTally } from "../support/tally.ts";
import { createTemporaryFolder } from "../support/temporary-folder.ts";
import { runTool } from "../support/tool.ts";
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

using tally = createTally("clients");
await using folder = await createTemporaryFolder();
const path = join(folder.path, "openapi.json");
await writeFile(path, JSON.stringify(document));
await tally.add("spectral", async () => `${await lintBySpectral(folder.path)} documents`);
for (const client of clients.filter(({ name }) => only === undefined || name === only)) {
  await tally.add(client.name, () => tryClient(client));
}

async function tryClient({ name, prepare }: Client): Promise<string> {
  const own = join(folder.path, name);
  await cp(join(import.meta.dirname, name), own, { recursive: true });
  await cp(join(import.meta.dirname, "operations.ts"), join(own, "operations.ts"));
  const [command, ...args] = await prepare(own, path);
  await using server = await startServer([process.execPath, program, "0"], own);
  const output = await runTool(own, [command, ...args, `http://127.0.0.1:${server.port}`]);
  const missing = operations.filter((id) => !output.split("\n").includes(`passed ${id}`));
  if (missing.length > 0) throw new Error(`${missing.join(", ")}\n${output}`);
  return `${operations.length} operations`;
}
