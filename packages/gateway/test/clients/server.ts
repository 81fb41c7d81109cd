/** What generated clients call: the catalog, and one book with every field set. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { create, type DescField } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { gatewayNodeAdapter, requireFields } from "../../src/index.ts";
import { createCatalog } from "../catalog-server.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { BookSchema, BookService } from "../gen/openapi/books/v1/books_pb.ts";
import { bookRules, wholeBook } from "./books.ts";

const book = create(BookSchema, wholeBook);

/** Changes what a path of a mask names, as an implementation after AIP-134 does. */
function change(target: ReflectMessage, source: ReflectMessage, path: readonly string[]): void {
  const [name, ...inner] = path;
  const field = target.fields.find((one) => one.name === name) as DescField;
  if (field.fieldKind === "message" && inner.length > 0) {
    change(target.get(field), source.get(field), inner);
  } else if (field.fieldKind === "map" && inner.length > 0) {
    const [key = ""] = inner;
    const value = source.get(field).get(key);
    if (value === undefined) target.get(field).delete(key);
    else target.get(field).set(key, value);
  } else if (source.isSet(field)) {
    target.set(field, source.get(field));
  } else {
    target.clear(field);
  }
}

const handler = gatewayNodeAdapter({
  routes: (router) => {
    router.service(CatalogService, createCatalog());
    router.service(BookService, {
      getBook: () => book,
      updateBook({ book: sent = create(BookSchema), updateMask }) {
        const [target, source] = [book, sent].map((one) => reflect(BookSchema, one));
        for (const path of updateMask?.paths ?? []) {
          if (target && source) change(target, source, path.split("."));
        }
        return book;
      },
    });
  },
  interceptors: [requireFields],
  rest: { rules: bookRules },
});
const server = createServer(handler).listen(Number(process.argv[2] ?? 0), "127.0.0.1");
server.once("listening", () => {
  process.stdout.write(`listening on ${(server.address() as AddressInfo).port}\n`);
});
