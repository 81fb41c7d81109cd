/** rest.ranges: a part of a google.api.HttpBody. */
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { type Catalog, get, openCatalogOf, versions } from "../support/catalog.ts";
import { jsonOf, type SentRequest, type TestGatewayOptions } from "../support/gateway.ts";

const ranges = { rest: { ranges: true } };
const path = "/v1/shelves/a/volumes/1:download";
const date = "Thu, 01 Jan 2026 00:00:00 GMT";

function catalogOf(text = "0123456789", headers: Record<string, string> = {}): Catalog {
  return {
    downloadVolume(_request, { responseHeader }) {
      for (const [name, value] of Object.entries(headers)) responseHeader.set(name, value);
      return { contentType: "image/png", data: Buffer.from(text) };
    },
    getVolume: () => ({ title: text }),
    async *streamVolume() {
      yield { contentType: "image/png", data: Buffer.from(text) };
    },
  };
}

const asking = (range: string, ifRange?: string): SentRequest => ({
  ...{ method: "GET", path },
  headers: { range, ...(ifRange !== undefined && { "if-range": ifRange }) },
});

/** Status, body and Content-Range. */
async function answerTo(
  request: SentRequest,
  catalog = catalogOf(),
  options: Partial<TestGatewayOptions> = ranges,
) {
  await using gateway = await openCatalogOf(catalog, options);
  const { status, body, headers } = await gateway.send(request);
  const isError = status >= 400;
  return [
    status,
    isError ? (jsonOf({ body }) as object) : body.toString(),
    headers.get("content-range"),
  ];
}

describe.each(versions)("over HTTP/%s", (version) => {
  test.each<[range: string, status: number, body: string, contentRange: string | null]>([
    ["bytes=0-0", 206, "0", "bytes 0-0/10"],
    ["bytes=2-4", 206, "234", "bytes 2-4/10"],
    ["bytes=7-", 206, "789", "bytes 7-9/10"],
    ["bytes=-3", 206, "789", "bytes 7-9/10"],
    ["bytes=-99", 206, "0123456789", "bytes 0-9/10"],
    ["bytes=0-99999999999999999999", 206, "0123456789", "bytes 0-9/10"],
    ["Bytes= 2-4", 206, "234", "bytes 2-4/10"],
    // The whole: several ranges, other units, what is no range.
    ["bytes=0-1,4-5", 200, "0123456789", null],
    ["lines=0-1", 200, "0123456789", null],
    ["bytes=4-2", 200, "0123456789", null],
    ["bytes=-", 200, "0123456789", null],
    ["bytes=a-b", 200, "0123456789", null],
  ])("%s gets %i %j", async (range, ...expected) => {
    expect(await answerTo({ ...asking(range), version })).toEqual(expected);
  });

  test.each(["bytes=10-", "bytes=10-12", "bytes=-0"])("%s gets 416", async (range) => {
    const message = "the range must begin before the end, 10 bytes";
    expect(await answerTo({ ...asking(range), version })).toEqual([
      416,
      { code: Code.OutOfRange, message, details: [] },
      "bytes */10",
    ]);
  });
});

test.each<[ifRange: string, headers: Record<string, string>, status: number]>([
  ['"v1"', { etag: '"v1"' }, 206],
  ['"v2"', { etag: '"v1"' }, 200],
  ['W/"v1"', { etag: 'W/"v1"' }, 200], // never by a weak tag
  ['"v1"', {}, 200],
  [date, { "last-modified": date }, 206],
  [date, { "last-modified": "Fri, 02 Jan 2026 00:00:00 GMT" }, 200],
  [date, {}, 200],
])("If-Range %s of an answer with %j: %i", async (ifRange, headers, status) => {
  const answer = await answerTo(asking("bytes=1-2", ifRange), catalogOf(undefined, headers));
  expect(answer[0]).toBe(status);
});

test("rest.etag tags what is not compressed strongly, so that parts can be joined", async () => {
  await using gateway = await openCatalogOf(catalogOf(), { rest: { ranges: true, etag: true } });
  const first = await gateway.send(asking("bytes=0-4"));
  const tag = first.headers.get("etag") ?? "";
  expect(tag).toMatch(/^"/);
  const rest = await gateway.send(asking("bytes=5-", tag));
  expect([first.status, rest.status]).toEqual([206, 206]);
  expect(Buffer.concat([first.body, rest.body]).toString()).toBe("0123456789");
  const headers = { range: "bytes=0-4", "if-none-match": tag };
  expect((await gateway.send({ method: "GET", path, headers })).status).toBe(304);
});

describe("the whole answer is sent", () => {
  const range = { range: "bytes=0-1" };
  const zipped = { ...range, "accept-encoding": "gzip" };
  const text: Catalog = {
    downloadVolume: () => ({ contentType: "text/plain", data: Buffer.from("0123456789") }),
  };

  test.each<[what: string, SentRequest, Partial<TestGatewayOptions>, Catalog, accepts: boolean]>([
    ["without the option", { method: "GET", path, headers: range }, {}, catalogOf(), false],
    ["to HEAD", { method: "HEAD", path, headers: range }, ranges, catalogOf(), true],
    ["of an empty body", { method: "GET", path, headers: range }, ranges, catalogOf(""), true],
    ["as JSON", { ...get("/v1/shelves/a/volumes/1"), headers: range }, ranges, catalogOf(), false],
    [
      "as a stream",
      { ...get("/v1/shelves/a/volumes/1:stream"), headers: range },
      ranges,
      catalogOf(),
      false,
    ],
    [
      "if it is compressed",
      { method: "GET", path, headers: zipped },
      { ...ranges, compressMinBytes: 1 },
      text,
      false,
    ],
  ])("%s", async (_what, request, options, catalog, accepts) => {
    await using gateway = await openCatalogOf(catalog, options);
    const { status, headers } = await gateway.send(request);
    expect([status, headers.get("accept-ranges")]).toEqual([200, accepts ? "bytes" : null]);
    expect(headers.has("content-range")).toBe(false);
  });
});

test("text is divided for clients that accept no coding", async () => {
  const catalog: Catalog = {
    downloadVolume: () => ({ contentType: "text/plain", data: Buffer.from("0123456789") }),
  };
  const options = { ...ranges, compressMinBytes: 1 };
  expect(await answerTo(asking("bytes=2-4"), catalog, options)).toEqual([
    206,
    "234",
    "bytes 2-4/10",
  ]);
});
