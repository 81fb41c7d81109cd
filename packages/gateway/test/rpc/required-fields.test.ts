import { create, type DescService, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ConnectRouter,
  createClient,
  createRouterTransport,
  type ServiceImpl,
  type UnaryRequest,
} from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { requireFields, withLegacyCheck } from "../../src/rpc/required-fields.ts";
import {
  type Book,
  type BookSchema,
  type Library,
  type LibrarySchema,
  LibraryService,
  ShelfSchema,
} from "../gen/library/v1/library_pb.ts";
import {
  type AddBookRequestSchema,
  BookService,
  type UpdateBookRequestSchema,
} from "../gen/openapi/books/v1/books_pb.ts";
import { OldSchema, OldService } from "../gen/openapi/old/v1/old_pb.ts";
import { openBooks } from "../support/books.ts";
import { jsonOf } from "../support/gateway.ts";
import { refusalFor, wrongFieldsOf } from "../support/violations.ts";

type LibraryInit = MessageInitShape<typeof LibrarySchema>;

const interceptors = [requireFields];

/** A client of a service behind requireFields. */
function clientOf<S extends DescService>(service: S, implementation: Partial<ServiceImpl<S>>) {
  const routes = (router: ConnectRouter) => router.service(service, implementation);
  return createClient(service, createRouterTransport(routes, { router: { interceptors } }));
}

const books = clientOf(BookService, { addBook: () => ({}), updateBook: () => ({}) });

async function update(library: LibraryInit) {
  const received: Library[] = [];
  const updateLibrary = (message: Library) => (received.push(message) ? message : {});
  const client = clientOf(LibraryService, { updateLibrary });
  return { refusal: await refusalFor(client.updateLibrary(library)), received };
}

const book: MessageInitShape<typeof BookSchema> = { id: 0n, title: "t", authors: ["a"] };

const shelfWith = (rest: MessageInitShape<typeof ShelfSchema>): LibraryInit => ({
  shelves: [{ theme: "a", ...rest } as object],
});
const allOf = (book: string) => ["id", "title", "authors"].map((name) => `${book}.${name}`);

test.each<[library: LibraryInit, fields: readonly string[]]>([
  [{ shelves: [{}] }, ["shelves[0].theme"]],
  [{ shelves: [{ theme: "a" }, {}, { theme: "" }] }, ["shelves[1].theme"]],
  [shelfWith({ books: { x: {}, y: book } }), allOf('shelves[0].books["x"]')],
  [{ shelvesByRoom: { "-7": {}, "7": { theme: "a" } } }, ['shelvesByRoom["-7"].theme']],
  [
    shelfWith({ newBooks: [{ ...book, sequel: { ...book, sequel: {} } }] }),
    allOf("shelves[0].newBooks[0].sequel.sequel"),
  ],
])("a request is rejected for %o: %j", async (library, fields) => {
  const { refusal, received } = await update(library);
  expect(refusal).toMatchObject({ violations: fields.map((field) => [field, "is required"]) });
  expect(received).toEqual([]);
});

test.each<[what: string, library: LibraryInit]>([
  ["what is not there at all", {}],
  ["empty lists and maps", { shelves: [], shelvesByRoom: {} }],
  ["the zero of a field with presence", { shelves: [{ theme: "", newBooks: [book] }] }],
  ["an optional field", { shelves: [{ theme: "a", books: { "": { ...book } } }] }],
])("a request is not rejected for %s", async (_what, library) => {
  const { refusal, received } = await update(library);
  expect(refusal).toBe("accepted");
  expect(received).toHaveLength(1);
});

test.each<[source: MessageInitShape<typeof AddBookRequestSchema>["source"], missing: string[]]>([
  [undefined, []],
  [{ case: "isbn", value: "1" }, []],
  [{ case: "book", value: { author: "a" } }, []],
  [{ case: "book", value: { print: {} } }, ["book.author", "book.print.printerName"]],
  [{ case: "print", value: {} }, ["print.printerName"]],
])("in a oneof, %j lacks %j", async (source, missing) => {
  expect(await wrongFieldsOf(books.addBook({ ...(source && { source }) }))).toEqual(missing);
});

describe("of what proto2 requires,", () => {
  async function put(message: MessageInitShape<typeof OldSchema>) {
    const [check] = withLegacyCheck(OldSchema, []);
    const { put: method } = OldService.method;
    const request = { stream: false, method, message: create(OldSchema, message) };
    await check?.(async () => ({}) as never)(request as unknown as UnaryRequest);
  }

  test.each<[message: MessageInitShape<typeof OldSchema>, missing: string[]]>([
    [{}, ["id"]],
    [{ id: 1n, part: [{ partName: "" }, {}] }, ["part[1].partName"]],
    [{ id: 1n, requests: { a: { id: 1n } } }, ['requests["a"].otherId']],
    [{ id: 1n, inner: { inner: {} } }, ["inner.id", "inner.inner.id"]],
  ])("%o lacks %j", async (message, missing) => {
    expect(await wrongFieldsOf(put(message))).toEqual(missing);
  });

  test("very many, and deep, are found at once", async () => {
    let message: MessageInitShape<typeof OldSchema> = { part: Array(200_000).fill({}) };
    for (let depth = 0; depth < 90; depth++) message = { inner: message };
    expect(await wrongFieldsOf(put(message))).toHaveLength(100);
    await expect(put(message)).rejects.toThrow(/; and 199991 more$/);
  });

  test("it is checked before interceptors", () => {
    const all = withLegacyCheck(OldSchema, [requireFields]);
    expect(all).toEqual([expect.any(Function), requireFields]);
  });
});

test("a complete message is passed on unchanged, including unknown fields", async () => {
  const $unknown = [{ no: 9999, wireType: 0, data: Uint8Array.of(1) }];
  const shelf = create(ShelfSchema, { theme: "a" });
  shelf.$unknown = $unknown;
  const { refusal, received } = await update({ displayName: "d", shelves: [shelf] });
  expect(refusal).toBe("accepted");
  expect(received).toMatchObject([{ displayName: "d", shelves: [{ theme: "a", $unknown }] }]);
});

test("in a stream, a message that lacks a field ends the call; earlier ones arrive", async () => {
  const received: Book[] = [];
  const client = clientOf(LibraryService, {
    async importBooks(books) {
      for await (const one of books) received.push(one);
      return { count: BigInt(received.length) };
    },
  });
  let isReleased = false;
  async function* books() {
    try {
      yield { ...book, id: 1n };
      yield { ...book, id: 2n };
      yield { title: "without id and authors" };
      yield { ...book, id: 4n };
    } finally {
      isReleased = true;
    }
  }
  expect(await refusalFor(client.importBooks(books()))).toEqual({
    message: "id is required; authors is required",
    violations: ["id", "authors"].map((name) => [name, "is required"]),
  });
  expect(received.map(({ id }) => id)).toEqual([1n, 2n]);
  expect(isReleased).toBe(true);
});

type BookInit = MessageInitShape<typeof UpdateBookRequestSchema>["book"];

/** An update needs only what its mask names (AIP-203). */
describe("an update with the mask", () => {
  const author = "book.author";
  const printer = "book.print.printerName";
  const print = { copies: 1 };
  const german = 'book.printsByCountry["de"].printerName';
  const odd = 'book.printsByCountry["d`e"].printerName';
  test.each<[mask: readonly string[], book: BookInit, missing: readonly string[]]>([
    [["title"], { title: "Emma" }, []],
    [["title", "author"], { title: "Emma" }, [author]],
    [["print.copies"], { print }, []],
    [["print.printer_name"], { print }, [printer]],
    [["print"], { print }, [printer]],
    // A message that is not there is set by a field of it, and not by its own name.
    [["print.printer_name"], {}, [printer]],
    [["print"], {}, []],
    // Entries of maps.
    [["prints_by_country.de.copies"], { printsByCountry: { de: print, fr: print } }, []],
    [["prints_by_country.`de`"], { printsByCountry: { de: print, fr: print } }, [german]],
    [["prints_by_country.`d``e`"], { printsByCountry: { "d`e": print } }, [odd]],
    [["prints_by_country.*.printer_name"], { printsByCountry: { de: print } }, [german]],
    // All.
    [["*"], { title: "Emma" }, [author]],
    [[], { title: "Emma" }, [author]],
    [["none"], { title: "Emma" }, [author]],
    // The resource itself, and what is none of it.
    [["title"], undefined, ["book"]],
  ])("%j of %j lacks %j", async (paths, book, missing) => {
    const update = books.updateBook({ book, updateMask: { paths: [...paths] } });
    expect(await wrongFieldsOf(update)).toEqual(missing);
  });

  test("of very many paths needs only what they name, of very many entries", async () => {
    const many = Array.from({ length: 100_000 }, (_, i) => `k${i}`);
    const printsByCountry = Object.fromEntries(many.map((name) => [name, print]));
    const paths = [...many, "prints_by_country.k0", `title${".a".repeat(20_000)}`];
    const update = books.updateBook({ book: { printsByCountry }, updateMask: { paths } });
    expect(await wrongFieldsOf(update)).toEqual(['book.printsByCountry["k0"].printerName']);
  });

  test("title, of a request whose other message lacks a field, lacks that", async () => {
    const request = { book: { title: "Emma" }, updateMask: { paths: ["title"] }, askedBy: {} };
    const violations = [["askedBy.printerName", "is required"]];
    expect(await refusalFor(books.updateBook(request))).toMatchObject({ violations });
  });
});

const path = "/v1/shelves/a/books/1";
test.each<[query: string, body: string, message: string | undefined]>([
  ["", '{"title":"x"}', undefined],
  ["?updateMask=title", '{"title":"x"}', undefined],
  ["?update_mask=title,author", '{"title":"x"}', "author is required"],
  ["", '{"author":null}', "author is required"],
])("over REST, PATCH %s of %s: %s", async (query, body, message) => {
  await using books = await openBooks({ updateBook: () => ({}) }, { interceptors });
  const headers = { "content-type": "application/json" };
  const response = await books.send({ method: "PATCH", path: path + query, headers, body });
  expect(response.status).toBe(message === undefined ? 200 : 400);
  const answer = message === undefined ? {} : expect.objectContaining({ message });
  expect(jsonOf(response)).toEqual(answer);
});
