/** Spectral, the linter of Stoplight, on documents of several kinds of services. */
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createOpenApiDocument } from "../../src/openapi/index.ts";
import { BookService } from "../gen/openapi/books/v1/books_pb.ts";
import { compiledService } from "../openapi/compiled.ts";
import { install } from "../runtimes/project.ts";
import { runTool } from "../support/tool.ts";

/** A catalog, resources as AIPs have them, every kind of field, editions, proto2. */
const services = [
  "library.v1.CatalogService",
  "library.v1.FieldService",
  "openapi.books.v1.BookService",
  "openapi.legacy.v1.LegacyService",
  "openapi.modern.v1.NoteService",
  "openapi.old.v1.OldService",
  "openapi.shop.v1.ShopService",
];

/**
 * @returns how many documents have no error.
 * @throws {Unavailable}; {Error} with what Spectral found.
 */
export async function lintBySpectral(parent: string): Promise<number> {
  const folder = join(parent, "spectral");
  await cp(join(import.meta.dirname, "spectral"), folder, { recursive: true });
  await install(folder, []);
  const documents = new Map(services.map((name) => [name, compiledService(name)]));
  documents.set("generated", BookService); // without comments
  for (const [name, service] of documents) {
    const document = createOpenApiDocument([service], { title: name, version: "1" });
    await writeFile(join(folder, `${name}.openapi.json`), JSON.stringify(document));
  }
  const program = join(folder, "node_modules/@stoplight/spectral-cli/dist/index.js");
  await runTool(folder, [process.execPath, program, "lint", "--quiet", "*.openapi.json"]);
  return documents.size;
}
