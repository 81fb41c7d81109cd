/** The methods of BookService that generated clients call, and the book that they change. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type BookSchema, BookService } from "../gen/openapi/books/v1/books_pb.ts";

const called = ["GetBook", "UpdateBook"];

/** Leaves the other methods to RPC. */
export const bookRules = BookService.methods
  .filter(({ name }) => !called.includes(name))
  .map(({ name }) => ({ selector: `${BookService.typeName}.${name}` }));

export const wholeBook: MessageInitShape<typeof BookSchema> = {
  name: "shelves/a/books/1",
  title: "Emma",
  author: "Austen",
  labels: { a: "1", b: "2" },
  tags: ["novel"],
  print: { printerName: "Murray", copies: 2000 },
  pageCount: 474,
  publishTime: { seconds: 1n },
  extra: { language: "en" },
  inPrint: true,
  printsByCountry: { uk: { printerName: "Murray", copies: 2000 } },
  price: 9007199254740993n,
};
