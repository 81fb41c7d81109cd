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

export type { Book };
