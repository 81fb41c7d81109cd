import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { LibraryService } from "../gen/library/v1/library_pb.ts";
import { createTestLibrary } from "./library.ts";

/** A library and a catalog, some of whose methods fail, and whose streams break off if they are asked to. */
export function addFailingServices(router: ConnectRouter): void {
  const torn = () => new ConnectError("torn", Code.DataLoss);
  router.service(LibraryService, {
    ...createTestLibrary(),
    closeLibrary: () => Promise.reject(new ConnectError("no", Code.FailedPrecondition)),
    updateLibrary: () => Promise.reject(new Error("broken")),
    addBooks: () => Promise.reject(new ConnectError("odd", 99 as Code)),
    searchBooks: () => Promise.reject(new ConnectError("late", Code.DeadlineExceeded)),
    async *followBook(book) {
      yield book;
      if (book.title === "bad") throw torn();
      if (book.title === "broken") throw new Error("broken");
    },
    async *exchangeBooks(books) {
      yield* books;
    },
  });
  router.service(CatalogService, {
    async *watchVolumes({ parent }) {
      yield { title: "Dune" };
      if (parent === "shelves/bad") throw torn();
    },
    async *streamVolume() {
      yield { contentType: "text/plain", data: Buffer.from("half of ") };
      throw torn();
    },
  });
}
