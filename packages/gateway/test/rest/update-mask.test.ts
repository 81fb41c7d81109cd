/** PATCH: the mask of the fields in a body, what it changes, and what it must not. */
import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { changesIn, updateMaskOf } from "../../src/rest/request/update-mask.ts";
import { type Binding, bindingsOf } from "../../src/rest/rule/rule.ts";
import {
  CreateVolumeRequestSchema,
  type UpdateVolumeRequest,
  UpdateVolumeRequestSchema,
} from "../gen/library/v1/catalog_pb.ts";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";
import type { Book, UpdateBookRequest } from "../gen/openapi/books/v1/books_pb.ts";
import { openBooks } from "../support/books.ts";
import { askCatalog, versions } from "../support/catalog.ts";
import { describeMethod, type Rule } from "../support/described-method.ts";
import { jsonOf, type TestGatewayOptions } from "../support/gateway.ts";

const patch = { pattern: { case: "patch", value: "/v1/a" }, body: "volume" } as const;

test.each<[what: string, rule: Rule, isFilled: boolean, input?: DescMessage]>([
  ["of a PATCH whose body is a message", patch, true],
  ["not of a PUT", { ...patch, pattern: { case: "put", value: "/v1/a" } }, false],
  ["not if the body is the mask", { ...patch, body: "update_mask" }, false],
  ["not if there is none", patch, false, CreateVolumeRequestSchema],
])("a mask is filled %s", (_what, rule, isFilled, input = UpdateVolumeRequestSchema) => {
  const [binding] = bindingsOf(describeMethod(input, rule));
  expect(updateMaskOf(input, binding as Binding) !== undefined).toBe(isFilled);
});

test.each([
  ...['{"genre":"NOPE"}', '{"optionalGenre":"NOPE"}', '{"genreList":["NOPE"]}'],
  ...['{"child":{"genre":"NOPE"}}', '{"genreByBool":{"true":"NOPE"}}'],
])("an unknown enum name, if it is ignored, changes nothing: %s", (body) => {
  const mask = { body: EveryFieldSchema.field.child as never, fixed: [] };
  const changes = changesIn(mask, { ...JSON.parse(body), string: "a" }, true);
  expect(changes.map(({ names, counts }) => [names.join("."), counts])).toEqual([
    [expect.any(String), "never"],
    ["string", "always"],
  ]);
});

const path = "/v1/shelves/a/volumes/1";
const merge = "application/merge-patch+json";
const json = "application/json";

describe.each(versions)("over HTTP/%s, PATCH", (version) => {
  async function patch(
    { query = "", type, body }: { query?: string; type: string; body: string },
    options: Partial<TestGatewayOptions> = {},
  ) {
    const received: UpdateVolumeRequest[] = [];
    const updateVolume = (request: UpdateVolumeRequest) => {
      received.push(request);
      return {};
    };
    const headers = { "content-type": type };
    const request = { version, method: "PATCH", path: path + query, headers, body };
    const response = await askCatalog({ updateVolume }, request, options);
    return { response, paths: received[0]?.updateMask?.paths, volume: received[0]?.volume };
  }

  test.each<[sent: Parameters<typeof patch>[0], paths: readonly string[] | undefined]>([
    [{ type: json, body: '{"title":"a"}' }, ["title"]],
    [{ type: merge, body: '{"title":null,"id":"2"}' }, ["title", "id"]],
    // The path sets it, and a service may reject changing it.
    [{ type: json, body: '{"name":"shelves/a/volumes/1","id":1}' }, ["id"]],
    [{ query: "?update_mask=title", type: json, body: '{"id":1}' }, ["title"]],
    [{ query: "?updateMask=", type: json, body: '{"id":1}' }, ["id"]],
    [{ type: json, body: "{}" }, undefined],
  ])("%j: %j", async (sent, paths) => {
    const { response, paths: found, volume } = await patch(sent);
    expect(response.status).toBe(200);
    expect(found).toEqual(paths);
    expect(volume?.name).toBe("shelves/a/volumes/1");
  });

  test.each<[what: string, type: string, body: string, status: number]>([
    ["a patch that is a list", merge, "[]", 400],
    ["a patch with an unknown member", merge, '{"isbn":null}', 400],
    ["a patch in another charset", `${merge}; charset=latin1`, "{}", 415],
    ["a patch of another kind", "application/json-patch+json", "[]", 415],
  ])("rejects %s", async (_what, type, body, status) => {
    const { response } = await patch({ type, body });
    expect(response.status).toBe(status);
    expect(jsonOf(response)).toMatchObject({ code: Code.InvalidArgument });
    if (status === 415) expect(response.headers.get("accept")).toBe(`${json}, ${merge}`);
  });

  test("does neither with fillUpdateMask: false", async () => {
    const options = { rest: { fillUpdateMask: false } };
    const { paths } = await patch({ type: json, body: '{"title":"a"}' }, options);
    expect(paths).toBeUndefined();
    const { response } = await patch({ type: merge, body: '{"title":"a"}' }, options);
    expect(response.status).toBe(415);
  });

  test("accepts no patch for another method", async () => {
    const headers = { "content-type": merge };
    const request = { version, path: "/v1/shelves/a/volumes", headers, body: "{}" };
    expect(await askCatalog({ createVolume: () => ({}) }, request)).toMatchObject({ status: 415 });
  });
});

const bookPath = "/v1/shelves/a/books/1";

/** What the implementation is asked to change, or why nothing reaches it. */
async function patchBook(type: string, body: string, query = "") {
  const received: UpdateBookRequest[] = [];
  await using books = await openBooks({
    updateBook(request) {
      received.push(request);
      return {};
    },
  });
  const headers = { "content-type": `application/${type}` };
  const response = await books.send({ method: "PATCH", path: bookPath + query, headers, body });
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
    // A map or list is replaced as a whole.
    ['{"labels":{"a":"b"},"tags":["x"]}', ["labels", "tags"]],
  ])("%s", async (body, paths) => {
    expect(await patchBook("json", body)).toMatchObject({ paths });
  });

  test.each<[body: string]>([['{"title":""}'], ['{"labels":{},"tags":[],"inPrint":false}']])(
    "400 for %s, which is nothing but zeros: without a mask, all could change",
    async (body) => {
      const advice = "name what to set to zero in updateMask, or send null";
      const message = `the request changes nothing: ${advice}`;
      expect(await patchBook("json", body)).toMatchObject({ status: 400, message });
      const named = await patchBook("json", body, "?updateMask=title");
      expect(named).toMatchObject({ paths: ["title"] });
    },
  );
});

describe("merge-patch, RFC 7396: members are set, merged, or removed:", () => {
  type Row = [body: string, mask: readonly string[], book: MessageInitShape<never> | Partial<Book>];
  test.each<Row>([
    ['{"title":"","inPrint":false}', ["title", "in_print"], { title: "" }],
    ['{"labels":{"x":"y","k":null}}', ["labels.x", "labels.k"], { labels: { x: "y" } }],
    ['{"labels":{"a.b":"","`":null}}', ["labels.`a.b`", "labels.````"], { labels: { "a.b": "" } }],
    ['{"labels":null}', ["labels"], { labels: {} }],
    ['{"labels":{},"print":{},"title":"a"}', ["title"], { labels: {} }],
    ['{"print":{"copies":0}}', ["print.copies"], {}],
    ['{"printsByCountry":{"de":{"copies":1}}}', ["prints_by_country.de.copies"], {}],
    ['{"printsByCountry":{"de":null}}', ["prints_by_country.de"], { printsByCountry: {} }],
    ['{"extra":null,"price":null}', ["extra", "price"], {}],
  ])("%s", async (body, paths, book) => {
    expect(await patchBook("merge-patch+json", body)).toMatchObject({ paths, book });
  });

  test.each<[body: string, status: number, message: string]>([
    // No mask says which members of a Struct to keep.
    ['{"extra":{"a":1}}', 400, "extra cannot be merged: application/json replaces it"],
    ['{"labels":{}}', 400, "the request changes nothing"],
    ['{"print":null,"pageCount":null,"page_count":1}', 400, "pageCount must be given once"],
    ["[]", 400, "book must be a JSON object"],
  ])("%s gets %i", async (body, status, message) => {
    const refused = await patchBook("merge-patch+json", body);
    expect(refused).toMatchObject({ status, message: expect.stringContaining(message) });
  });
});
