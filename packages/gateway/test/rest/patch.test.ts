/** PATCH without a mask: what it changes, and what it must not. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { Book, UpdateBookRequest } from "../gen/openapi/books/v1/books_pb.ts";
import { openBooks } from "../support/books.ts";
import { jsonOf } from "../support/gateway.ts";

const path = "/v1/shelves/a/books/1";

/** What the implementation is asked to change, or why nothing reaches it. */
async function patch(type: string, body: string, query = "") {
  const received: UpdateBookRequest[] = [];
  await using books = await openBooks({
    updateBook(request) {
      received.push(request);
      return {};
    },
  });
  const headers = { "content-type": `application/${type}` };
  const response = await books.send({ method: "PATCH", path: path + query, headers, body });
  const [request] = received;
  if (request !== undefined) return { paths: request.updateMask?.paths, book: request.book };
  return { status: response.status, ...(jsonOf(response) as object) };
}

describe("JSON: zeros of typed clients change nothing, values and nulls do:", () => {
  test.each<[body: string, paths: readonly string[]]>([
    // As a client of Go without pointers, or of Java, sends all that its user has not set.
    ['{"title":"Emma","author":"","labels":{},"tags":[],"inPrint":false}', ["title"]],
    ['{"title":"Emma","print":{"printerName":"","copies":0}}', ["title"]],
    // With presence a zero is a value.
    ['{"pageCount":0,"price":"0"}', ["page_count", "price"]],
    ['{"publishTime":"1970-01-01T00:00:00Z","extra":{}}', ["publish_time", "extra"]],
    ['{"print":{}}', ["print"]],
    // By proto names, whichever name is used, in the order of the body.
    ['{"print":{"copies":1},"page_count":2}', ["print.copies", "page_count"]],
    ['{"extra":{"a":{"b":1}},"title":"Emma"}', ["extra", "title"]],
    // null clears.
    ['{"title":null,"tags":null,"labels":null}', ["title", "tags", "labels"]],
    ['{"print":null,"pageCount":null}', ["print", "page_count"]],
    // A map or list is replaced as a whole.
    ['{"labels":{"a":"b"},"tags":["x"]}', ["labels", "tags"]],
  ])("%s", async (body, paths) => {
    expect(await patch("json", body)).toMatchObject({ paths });
  });

  test.each<[body: string]>([['{"title":""}'], ['{"labels":{},"tags":[],"inPrint":false}']])(
    "400 for %s, which is nothing but zeros: without a mask, all could change",
    async (body) => {
      expect(await patch("json", body)).toMatchObject({
        status: 400,
        message:
          "the request changes nothing: name what to set to zero in updateMask, or send null",
      });
      expect(await patch("json", body, "?updateMask=title")).toMatchObject({ paths: ["title"] });
    },
  );
});

describe("merge-patch, RFC 7396: members are set, merged, or removed:", () => {
  type Row = [
    body: string,
    paths: readonly string[],
    book: MessageInitShape<never> | Partial<Book>,
  ];
  test.each<Row>([
    ['{"title":"","inPrint":false}', ["title", "in_print"], { title: "" }],
    ['{"title":null}', ["title"], { title: "" }],
    ['{"labels":{"x":"y","k":null}}', ["labels.x", "labels.k"], { labels: { x: "y" } }],
    ['{"labels":{"a.b":"","`":null}}', ["labels.`a.b`", "labels.````"], { labels: { "a.b": "" } }],
    ['{"labels":null}', ["labels"], { labels: {} }],
    ['{"labels":{},"title":"a"}', ["title"], { labels: {} }],
    ['{"print":{"copies":0}}', ["print.copies"], {}],
    ['{"printsByCountry":{"de":{"copies":1}}}', ["prints_by_country.de.copies"], {}],
    ['{"printsByCountry":{"de":null}}', ["prints_by_country.de"], { printsByCountry: {} }],
    ['{"extra":null,"price":null}', ["extra", "price"], {}],
  ])("%s", async (body, paths, book) => {
    expect(await patch("merge-patch+json", body)).toMatchObject({ paths, book });
  });

  test.each<[body: string, status: number, message: string]>([
    // No mask says which members of a Struct to keep.
    ['{"extra":{"a":1}}', 400, "extra cannot be merged: application/json replaces it"],
    ['{"labels":{}}', 400, "the request changes nothing"],
    ["[]", 400, "the request must be a JSON object"],
  ])("%s gets %i", async (body, status, message) => {
    const refused = await patch("merge-patch+json", body);
    expect(refused).toMatchObject({ status, message: expect.stringContaining(message) });
  });
});
