import type { ServiceImpl } from "@connectrpc/connect";
import { type Book, BookService } from "../gen/openapi/books/v1/books_pb.ts";
import { openGateway, type TestGatewayOptions } from "./gateway.ts";

/** A service of books, of which only these methods are of interest. */
export function openBooks(
  books: Partial<ServiceImpl<typeof BookService>>,
  options: Partial<TestGatewayOptions> = {},
) {
  return openGateway({ routes: (router) => router.service(BookService, books), ...options });
}

/** The one book of a service of books, with every field set. */
export const everyField = {
  name: "shelves/a/books/1",
  title: "Emma",
  author: "Austen",
  labels: { a: "1", b: "2" },
  tags: ["novel"],
  print: { printerName: "Murray", copies: 2000 },
  pageCount: 474,
  publishTime: { seconds: 1n, nanos: 0 },
  extra: { language: "en" },
  inPrint: true,
  pricesByCountry: {},
  price: 9007199254740993n,
} as const;

export type { Book };
