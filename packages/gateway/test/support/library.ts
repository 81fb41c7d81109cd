import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { LibraryService } from "../gen/library/v1/library_pb.ts";
import { createEchoService } from "./echo.ts";
import { openGateway, type TestGatewayOptions } from "./gateway.ts";

/** A library of which only these methods are of interest. */
export function openLibraryOf(
  library: Partial<ServiceImpl<typeof LibraryService>>,
  options: Partial<TestGatewayOptions> = {},
) {
  return openGateway({ ...options, routes: (router) => router.service(LibraryService, library) });
}

/** A library that records, and a service of fields that echoes. */
export function openLibraryAndFields(options: Partial<TestGatewayOptions> = {}) {
  return openGateway({
    routes: (router) => {
      router.service(LibraryService, createTestLibrary());
      router.service(FieldService, createEchoService());
    },
    ...options,
  });
}

/** One call that has reached the implementation. */
export interface LibraryCall {
  readonly request: unknown;
  readonly context: HandlerContext;
}

/** A LibraryService that answers from the request, and records every call. */
export interface TestLibrary extends Partial<ServiceImpl<typeof LibraryService>> {
  readonly calls: readonly LibraryCall[];
}

export function createTestLibrary(): TestLibrary {
  const calls: LibraryCall[] = [];
  function keep<T>(request: T, context: HandlerContext): T {
    calls.push({ request, context });
    return request;
  }
  return {
    calls,
    createShelf(request, context) {
      const { shelf } = keep(request, context);
      return shelf === undefined ? {} : { shelf, etag: "1" };
    },
    updateLibrary: keep,
    getLibrary(request, context) {
      keep(request, context);
      return { displayName: "Reading room" };
    },
    closeLibrary(request, context) {
      keep(request, context);
      return {};
    },
    addBooks(request, context) {
      const { books } = keep(request, context);
      return { ids: books.map(({ id }) => id ?? 0n) };
    },
    searchBooks(request, context) {
      const { text } = keep(request, context);
      return { books: [{ id: 1n, title: text }] };
    },
  };
}
