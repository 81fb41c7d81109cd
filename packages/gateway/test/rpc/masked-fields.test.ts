/** requireFields and a mask: an update needs only what its mask names (AIP-203). */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { createClient, createRouterTransport } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { requireFields } from "../../src/rpc/required-fields.ts";
import { BookService, type UpdateBookRequestSchema } from "../gen/openapi/books/v1/books_pb.ts";
import { openBooks } from "../support/books.ts";
import { jsonOf } from "../support/gateway.ts";
import { refusalFor, wrongFieldsOf } from "../support/violations.ts";

type Book = MessageInitShape<typeof UpdateBookRequestSchema>["book"];

const interceptors = [requireFields];

const client = createClient(
  BookService,
  createRouterTransport((router) => router.service(BookService, { updateBook: () => ({}) }), {
    router: { interceptors },
  }),
);

describe("an update with the mask", () => {
  const author = "book.author";
  const printer = "book.print.printerName";
  const print = { copies: 1 };
  const german = 'book.printsByCountry["de"].printerName';
  test.each<[mask: readonly string[], book: Book, missing: readonly string[]]>([
    [["title"], { title: "Emma" }, []],
    [["title", "author"], { title: "Emma" }, [author]],
    [["title", "author"], { title: "Emma", author: "Austen" }, []],
    // Within messages.
    [["title"], { print }, []],
    [["print.copies"], { print }, []],
    [["print.printer_name"], { print }, [printer]],
    [["print.printer_name"], {}, [printer]],
    [["print"], { print }, [printer]],
    [["print"], {}, []],
    // Entries of maps.
    [["prints_by_country.de.copies"], { printsByCountry: { de: print, fr: print } }, []],
    [["prints_by_country.`de`"], { printsByCountry: { de: print, fr: print } }, [german]],
    [["prints_by_country.*.printer_name"], { printsByCountry: { de: print } }, [german]],
    // All.
    [["*"], { title: "Emma" }, [author]],
    [[], { title: "Emma" }, [author]],
    // The resource itself, and what is none of it.
    [["title"], undefined, ["book"]],
  ])("%j of %j lacks %j", async (paths, book, missing) => {
    const update = client.updateBook({ book, updateMask: { paths: [...paths] } });
    expect(await wrongFieldsOf(update)).toEqual(missing);
  });

  test("title, of a request whose other message lacks a field, lacks that", async () => {
    const request = { book: { title: "Emma" }, updateMask: { paths: ["title"] }, askedBy: {} };
    expect(await refusalFor(client.updateBook(request))).toMatchObject({
      violations: [["askedBy.printerName", "is required"]],
    });
  });
});

describe("over REST, PATCH", () => {
  const path = "/v1/shelves/a/books/1";
  test.each<[query: string, body: string, message: string | undefined]>([
    ["", '{"title":"x"}', undefined],
    ["?updateMask=title", '{"title":"x"}', undefined],
    ["?update_mask=title,author", '{"title":"x"}', "author is required"],
    ["", '{"author":null}', "author is required"],
  ])("%s of %s: %s", async (query, body, message) => {
    await using books = await openBooks({ updateBook: () => ({}) }, { interceptors });
    const headers = { "content-type": "application/json" };
    const response = await books.send({ method: "PATCH", path: path + query, headers, body });
    expect(response.status).toBe(message === undefined ? 200 : 400);
    expect(jsonOf(response)).toEqual(
      message === undefined ? {} : expect.objectContaining({ message }),
    );
  });
});
