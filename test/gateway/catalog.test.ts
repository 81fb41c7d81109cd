/** A resource-oriented service, whole, as a client of REST sees it. */
import { gunzipSync, gzipSync } from "node:zlib";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { HttpRuleSchema } from "../../gen/google/api/http_pb.ts";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { createCatalog } from "./catalog-server.ts";
import { CatalogService } from "./gen/library/v1/catalog_pb.ts";
import {
  jsonOf,
  openGateway,
  type SentRequest,
  type TestGatewayOptions,
} from "./support/gateway.ts";

const json = { "content-type": "application/json" };
const big = "9007199254740993";

const walden = { name: "shelves/a/volumes/1", id: "1", title: "Walden" };
const emma = { name: `shelves/a/volumes/${big}`, id: big, title: "Emma" };
const ulysses = { name: "shelves/b/volumes/3", id: "3", title: "Ulysses" };

/** A catalog with three volumes on two shelves. */
async function openCatalog(options: Partial<TestGatewayOptions> = {}) {
  const catalog = createCatalog();
  const gateway = await openGateway({
    routes: (router) => {
      router.service(CatalogService, catalog);
    },
    ...options,
  });
  const prefix = options.requestPathPrefix ?? "";
  for (const { name, id, title } of [walden, emma, ulysses]) {
    const path = `${prefix}/v1/${name.replace(/\/\d+$/, "")}`;
    await gateway.send({ path, headers: json, body: JSON.stringify({ id, title }) });
  }
  return gateway;
}

/** A catalog of which only GetVolume is of interest. */
function openGetVolume(
  getVolume: ServiceImpl<typeof CatalogService>["getVolume"],
  options: Partial<TestGatewayOptions> = {},
) {
  return openGateway({
    routes: (router) => {
      router.service(CatalogService, { getVolume });
    },
    ...options,
  });
}

const notFound = (message: string) => ({ code: Code.NotFound, message, details: [] });

/** A refusal that names the field. */
const refused = (field: string) => ({
  code: Code.InvalidArgument,
  details: [
    {
      "@type": "type.googleapis.com/google.rpc.BadRequest",
      fieldViolations: [expect.objectContaining(field === "" ? {} : { field })],
    },
  ],
});

const get = (path: string): SentRequest => ({ method: "GET", path });
const send = (method: string, path: string, body: unknown): SentRequest => ({
  method,
  path,
  headers: json,
  body: typeof body === "string" ? body : JSON.stringify(body),
});

describe.each(["1.1", "2"] as const)("over HTTP/%s,", (version) => {
  type Row = readonly [what: string, request: SentRequest, status: number, answer: unknown];

  const rows: readonly Row[] = [
    ["a volume is read by its name", get("/v1/shelves/a/volumes/1"), 200, walden],
    ["its name may be percent-encoded", get("/v1/%73helves/%61/volumes/%31"), 200, walden],
    ["by its number, exactly", get(`/v1/volumes/${big}`), 200, emma],
    ["a number with a fraction", get("/v1/volumes/3.0"), 400, refused("id")],
    ["a variable leaves the rest to the query", get("/v1/shelves/a/volumes/1?id=7"), 200, walden],
    ["a query may repeat what the path says", get("/v1/volumes/3?id=3"), 200, ulysses],
    ["but not contradict it", get("/v1/volumes/3?id=4"), 400, refused("id")],
    ["a number that is none", get("/v1/volumes/three"), 400, refused("id")],
    ["a number past int64", get("/v1/volumes/9223372036854775808"), 400, refused("id")],
    ["the largest int64", get("/v1/volumes/9223372036854775807"), 404, { code: Code.NotFound }],
    ["the smallest int64", get("/v1/volumes/-9223372036854775808"), 404, { code: Code.NotFound }],
    [
      "a volume that is not there",
      get("/v1/shelves/a/volumes/9"),
      404,
      notFound("there is no shelves/a/volumes/9"),
    ],
    [
      "a verb that no method has is part of the name",
      get("/v1/shelves/a/volumes/1:lend"),
      404,
      notFound("there is no shelves/a/volumes/1:lend"),
    ],
    [
      "a slash that is encoded stays so in a name of several segments",
      get("/v1/shelves/a/volumes/x%2Fy"),
      404,
      notFound("there is no shelves/a/volumes/x%2Fy"),
    ],
    [
      "all else of a name is decoded",
      get("/v1/shelves/a/volumes/%C3%A9%20%3A"),
      404,
      notFound("there is no shelves/a/volumes/é :"),
    ],
    ["bytes that are no UTF-8", get("/v1/shelves/a/volumes/%ff"), 400, refused("name")],
    ["a name that is cut short", get("/v1/shelves/a"), 404, { message: expect.any(String) }],
    ["an empty segment is no shelf", get("/v1/shelves//volumes"), 404, { code: Code.NotFound }],

    ["a shelf is listed", get("/v1/shelves/a/volumes"), 200, { volumes: [walden, emma] }],
    ["an empty list is left out", get("/v1/shelves/z/volumes"), 200, {}],
    ["by JSON name", get("/v1/shelves/a/volumes?pageSize=1"), 200, { volumes: [walden] }],
    ["by proto name", get("/v1/shelves/a/volumes?page_size=1"), 200, { volumes: [walden] }],
    [
      "a repeated parameter once",
      get("/v1/shelves/a/volumes?titles=Emma"),
      200,
      { volumes: [emma] },
    ],
    [
      "and twice",
      get("/v1/shelves/a/volumes?titles=Emma&titles=Walden"),
      200,
      { volumes: [walden, emma] },
    ],
    ["a plus is a space", get("/v1/shelves/a/volumes?titles=Em+ma"), 200, {}],
    ["a parameter no field has", get("/v1/shelves/a/volumes?size=1"), 400, refused("size")],
    [
      "a scalar that is given twice",
      get("/v1/shelves/a/volumes?pageSize=1&page_size=1"),
      400,
      refused("page_size"),
    ],
    ["a size that is none", get("/v1/shelves/a/volumes?pageSize=x"), 400, refused("pageSize")],
    [
      "a size past int32",
      get("/v1/shelves/a/volumes?pageSize=2147483648"),
      400,
      refused("pageSize"),
    ],
    ["a shelf that contradicts", get("/v1/shelves/a/volumes?parent=b"), 400, refused("parent")],

    [
      "a volume is created",
      send("POST", "/v1/shelves/c/volumes", { id: "5", title: "Dune" }),
      200,
      { name: "shelves/c/volumes/5", id: "5", title: "Dune" },
    ],
    [
      "from a number as well, exactly",
      send("POST", "/v1/shelves/c/volumes", `{"id":${big}}`),
      200,
      { name: `shelves/c/volumes/${big}`, id: big },
    ],
    [
      "from an empty body of JSON",
      send("POST", "/v1/shelves/c/volumes", {}),
      200,
      { name: "shelves/c/volumes/0" },
    ],
    [
      "from null, which is no volume",
      send("POST", "/v1/shelves/c/volumes", null),
      200,
      { name: "shelves/c/volumes/0" },
    ],
    [
      "what is beside the body comes by the query",
      send("POST", "/v1/shelves/c/volumes?validateOnly=true", {}),
      200,
      { name: "shelves/c/volumes/0" },
    ],
    [
      "what is in the body does not",
      send("POST", "/v1/shelves/c/volumes?volume.title=x", {}),
      400,
      refused("volume.title"),
    ],
    ["a body cut short", send("POST", "/v1/shelves/c/volumes", "{"), 400, refused("")],
    ["a body that is not there", send("POST", "/v1/shelves/c/volumes", ""), 400, refused("")],
    ["an array is no volume", send("POST", "/v1/shelves/c/volumes", []), 400, refused("")],
    [
      "a member that no field has",
      send("POST", "/v1/shelves/c/volumes", { isbn: 1 }),
      400,
      { code: Code.InvalidArgument },
    ],
    [
      "a body that is no JSON by its type",
      { path: "/v1/shelves/c/volumes", headers: { "content-type": "text/plain" }, body: "{}" },
      415,
      { code: Code.InvalidArgument },
    ],

    [
      "a volume is changed as the mask says",
      send("PATCH", "/v1/shelves/a/volumes/1?updateMask=title", { title: "Cape Cod" }),
      200,
      { ...walden, title: "Cape Cod" },
    ],
    [
      "by the proto name of the mask, and of several paths",
      send("PATCH", "/v1/shelves/a/volumes/1?update_mask=id,title", { title: "Cape Cod" }),
      200,
      { ...walden, title: "Cape Cod" },
    ],
    [
      "not without a mask",
      send("PATCH", "/v1/shelves/a/volumes/1", { title: "Cape Cod" }),
      200,
      walden,
    ],
    [
      "a body may repeat the name of the path",
      send("PATCH", "/v1/shelves/a/volumes/1?updateMask=title", walden),
      200,
      walden,
    ],
    [
      "but not name another",
      send("PATCH", "/v1/shelves/a/volumes/1?updateMask=title", emma),
      400,
      refused("volume.name"),
    ],
    [
      "a name that is null says nothing",
      send("PATCH", "/v1/shelves/a/volumes/1", { name: null }),
      200,
      walden,
    ],

    ["a volume is deleted", { method: "DELETE", path: "/v1/shelves/a/volumes/1" }, 200, {}],
    [
      "not if it is not there",
      { method: "DELETE", path: "/v1/shelves/a/volumes/2" },
      404,
      notFound("there is no shelves/a/volumes/2"),
    ],
    [
      "not with a body",
      {
        method: "DELETE",
        path: "/v1/shelves/a/volumes/1",
        headers: { ...json, "content-length": "2" },
        body: "{}",
      },
      400,
      refused(""),
    ],

    [
      "a verb is a method of its own",
      send("POST", "/v1/shelves/a/volumes/1:move", { to: "shelves/b" }),
      200,
      { ...walden, name: "shelves/b/volumes/1" },
    ],
    [
      "its body is the whole message, which may repeat the name",
      send("POST", "/v1/shelves/a/volumes/1:move", { to: "shelves/b", name: walden.name }),
      200,
      { ...walden, name: "shelves/b/volumes/1" },
    ],
    [
      "but not name another",
      send("POST", "/v1/shelves/a/volumes/1:move", { to: "shelves/b", name: emma.name }),
      400,
      refused("name"),
    ],
    [
      "nothing is left for the query",
      send("POST", "/v1/shelves/a/volumes/1:move?to=shelves/b", {}),
      400,
      refused("to"),
    ],

    ["** takes one segment", get("/v1/files/a"), 200, { path: "a" }],
    ["and many", get("/v1/files/a/b/c.txt"), 200, { path: "a/b/c.txt" }],
    ["and none", get("/v1/files"), 200, {}],
    ["and an empty one", get("/v1/files/"), 200, {}],
    ["it keeps an encoded slash", get("/v1/files/a%2Fb/c"), 200, { path: "a%2Fb/c" }],
    ["in either case", get("/v1/files/a%2fb"), 200, { path: "a%2fb" }],
    ["and decodes the rest", get("/v1/files/a%20b/%C3%A9"), 200, { path: "a b/é" }],
    ["a colon is part of it", get("/v1/files/a:b"), 200, { path: "a:b" }],
    ["even before a verb of others", get("/v1/files/a:move"), 200, { path: "a:move" }],
    ["dots are segments as others are", get("/v1/files/a/../b/."), 200, { path: "a/../b/." }],
    ["a percent sign alone is refused", get("/v1/files/a%"), 400, refused("path")],
  ];

  test.each(rows)("%s", async (_what, request, status, answer) => {
    await using gateway = await openCatalog();
    const response = await gateway.send({ version, ...request });
    expect(jsonOf(response)).toMatchObject(answer as object);
    if (status === 200) expect(jsonOf(response)).toEqual(answer);
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("content-length")).toBe(String(response.body.length));
  });

  test("what was changed stays so", async () => {
    await using gateway = await openCatalog();
    await gateway.send({ version, method: "DELETE", path: "/v1/shelves/a/volumes/1" });
    const move = send("POST", `/v1/${emma.name}:move`, { to: "shelves/b" });
    await gateway.send({ version, ...move });
    expect(jsonOf(await gateway.send({ version, ...get("/v1/shelves/a/volumes") }))).toEqual({});
    expect(jsonOf(await gateway.send({ version, ...get("/v1/shelves/b/volumes") }))).toEqual({
      volumes: [ulysses, { ...emma, name: `shelves/b/volumes/${big}` }],
    });
  });

  const notAllowed: readonly [method: string, path: string, allow: string][] = [
    ["POST", "/v1/volumes/1", "GET, HEAD"],
    ["PUT", "/v1/shelves/a/volumes", "GET, HEAD, POST"],
    ["POST", "/v1/shelves/a/volumes/1", "DELETE, GET, HEAD, PATCH"],
    ["OPTIONS", "/v1/shelves/a/volumes/1", "DELETE, GET, HEAD, PATCH"],
    ["POST", "/v1/shelves/a/volumes:watch", "GET, HEAD"],
    ["GET", "/v1/shelves/a/volumes:import", "POST"],
    ["HEAD", "/v1/shelves/a/volumes:import", "POST"],
    ["DELETE", "/v1/files/a/b", "GET, HEAD"],
    ["get", "/v1/files/a/b", "GET, HEAD"],
  ];

  test.each(notAllowed.filter(([method]) => version === "2" || method !== "get"))(
    "%s %s is not allowed, but %s",
    async (method, path, allow) => {
      await using gateway = await openCatalog();
      const response = await gateway.send({ version, method, path });
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe(allow);
    },
  );

  test.each([
    "/v1/shelves",
    "/v1/shelves/a/volumes/",
    "/v1/shelves/a/volumes/1/x",
    "/v1/volumes",
    "/v1/shelves/a/volumes:lend",
    "/v1/file",
    "/V1/files/a",
  ])("nothing is at %s", async (path) => {
    await using gateway = await openCatalog();
    const response = await gateway.send({ version, ...get(path) });
    expect(response.status).toBe(404);
    expect(jsonOf(response)).toEqual(notFound("nothing is served at this path"));
    expect(response.headers.get("allow")).toBeNull();
  });

  test.each<[path: string, status: number]>([
    ["/v1/shelves/a/volumes/1", 200],
    [`/v1/volumes/${big}`, 200],
    ["/v1/shelves/a/volumes", 200],
    ["/v1/shelves/a/volumes/1:download", 200],
    ["/v1/files/a/b", 200],
    ["/v1/shelves/a/volumes/9", 404],
    ["/v1/volumes/x", 400],
    ["/v1/nothing", 404],
  ])("HEAD of %s has the head of GET, and no body", async (path, status) => {
    await using gateway = await openCatalog();
    const byGet = await gateway.send({ version, method: "GET", path });
    const byHead = await gateway.send({ version, method: "HEAD", path });
    const without = ({ headers }: typeof byGet) =>
      [...headers].filter(([name]) => name !== "date" && name !== "connection");
    expect(byHead.status).toBe(status);
    expect(without(byHead)).toEqual(without(byGet));
    expect(byHead.body).toHaveLength(0);
  });

  describe("compression", () => {
    const large = "a".repeat(2000);
    const getLarge = get("/v1/shelves/x/volumes/1");
    const openLarge = (title: string) =>
      openGetVolume(() => ({ title }), { compressMinBytes: 1000 });

    test.each<[accept: string, coding: string | null]>([
      ["gzip", "gzip"],
      ["GZIP", "gzip"],
      ["deflate, gzip", "gzip"],
      ["gzip;q=0.1", "gzip"],
      ["gzip; q=1.000", "gzip"],
      ["br", "br"],
      ["gzip;q=0, br", "br"],
      ["gzip;q=0", null],
      ["gzip; q=0.000", null],
      ["deflate", null],
      ["identity", null],
      ["", null],
    ])("Accept-Encoding %j: the answer is in %s", async (accept, coding) => {
      await using gateway = await openLarge(large);
      const headers = { "accept-encoding": accept };
      const response = await gateway.send({ version, ...getLarge, headers });
      expect(response.headers.get("content-encoding")).toBe(coding);
      expect(response.headers.get("vary")).toBe("accept-encoding");
      expect(response.headers.get("content-length")).toBe(String(response.body.length));
      if (coding === null) expect(jsonOf(response)).toEqual({ title: large });
      if (coding === "gzip") {
        expect(jsonOf({ body: gunzipSync(response.body) })).toEqual({ title: large });
      }
    });

    test.each([
      [1000 - '{"title":""}'.length, "gzip"],
      [999 - '{"title":""}'.length, null],
    ])("begins at compressMinBytes: a title of %s, in %s", async (length, coding) => {
      await using gateway = await openLarge("b".repeat(length));
      const headers = { "accept-encoding": "gzip" };
      const response = await gateway.send({ version, ...getLarge, headers });
      expect(response.headers.get("content-encoding")).toBe(coding);
    });

    test("a body in gzip is read", async () => {
      await using gateway = await openCatalog();
      const headers = { ...json, "content-encoding": "gzip" };
      const body = gzipSync('{"id":"7"}');
      const request = { version, path: "/v1/shelves/c/volumes", headers, body };
      expect(jsonOf(await gateway.send(request))).toEqual({ name: "shelves/c/volumes/7", id: "7" });
    });

    const limit = 500;
    test.each<[what: string, body: Uint8Array, status: number]>([
      ["within the limit", gzipSync(`{"title":"${"a".repeat(400)}"}`), 200],
      ["above it once unpacked", gzipSync(`{"title":"${"a".repeat(600)}"}`), 413],
      ["cut short", gzipSync('{"title":"a"}').subarray(0, 20), 400],
      ["that is none", Buffer.from('{"title":"a"}'), 400],
    ])("a body in gzip %s: %s", async (_what, body, status) => {
      await using gateway = await openCatalog({ readMaxBytes: limit });
      const headers = { ...json, "content-encoding": "gzip" };
      const request = { version, path: "/v1/shelves/c/volumes", headers, body };
      expect(await gateway.send(request)).toMatchObject({ status });
    });
  });

  test("headers and trailers that the implementation sets arrive", async () => {
    await using gateway = await openGetVolume((_request, context) => {
      context.responseHeader.set("x-shelf", "a");
      context.responseHeader.append("x-many", "1");
      context.responseHeader.append("x-many", "2");
      context.responseTrailer.set("x-cost", "3");
      return {};
    });
    const { headers } = await gateway.send({ version, ...get("/v1/volumes/1") });
    expect(headers.get("x-shelf")).toBe("a");
    expect(headers.get("x-many")).toBe("1, 2");
    expect(headers.get("trailer-x-cost")).toBe("3");
  });

  test("the implementation sees the headers of the request", async () => {
    const seen: HandlerContext[] = [];
    await using gateway = await openGetVolume((_request, context) => {
      seen.push(context);
      return {};
    });
    const headers = { "x-reader": "a, b", authorization: "Bearer t" };
    await gateway.send({ version, ...get("/v1/volumes/1?name=x"), headers });
    const [context] = seen;
    expect(context?.requestHeader.get("x-reader")).toBe("a, b");
    expect(context?.requestHeader.get("authorization")).toBe("Bearer t");
    expect(context?.requestMethod).toBe("GET");
    expect(context?.protocolName).toBe("rest");
    expect(context?.method.name).toBe("GetVolume");
    expect(context?.url).toBe(`${gateway.origin(version)}/v1/volumes/1?name=x`);
  });
});

describe("requestPathPrefix", () => {
  test.each([
    ["/api/v1/shelves/a/volumes/1", 200],
    ["/api/v1/files", 200],
    ["/api/library.v1.CatalogService/GetVolume", 415],
    ["/v1/shelves/a/volumes/1", 404],
    ["/api", 404],
    ["/ap", 404],
    ["/apiv1/shelves/a/volumes/1", 404],
    ["/api//v1/files", 404],
  ])("GET %s: %s", async (path, status) => {
    await using gateway = await openCatalog({ requestPathPrefix: "/api" });
    expect(await gateway.send({ method: "GET", path })).toMatchObject({ status });
  });
});

describe("rules by selector", () => {
  const rules = [
    create(HttpRuleSchema, {
      selector: "library.v1.CatalogService.GetVolume",
      pattern: { case: "get", value: "/books/{id}" },
      additionalBindings: [
        { pattern: { case: "custom", value: { kind: "FIND", path: "/books" } } },
      ],
    }),
  ];

  test.each<[request: SentRequest, status: number]>([
    [{ method: "GET", path: "/books/3" }, 200],
    [{ method: "FIND", path: "/books?id=3" }, 501],
    [{ method: "GET", path: "/v1/volumes/3" }, 404],
    [{ method: "GET", path: "/v1/shelves/b/volumes/3" }, 405],
    [{ method: "GET", path: "/v1/shelves/b/volumes" }, 200],
  ])("replace the method's annotation, and no other's: %o %s", async (request, status) => {
    await using gateway = await openCatalog({ rest: { rules } });
    // HTTP/1.1 of Node knows no FIND; HTTP/2 takes any method.
    const response = await gateway.send({ version: "2", ...request });
    expect(response.status).toBe(request.method === "FIND" ? 200 : status);
    if (response.status === 200 && !request.path.startsWith("/v1")) {
      expect(jsonOf(response)).toEqual(ulysses);
    }
  });
});

describe("rest options", () => {
  test("ignoreUnknownFields passes over members that no field has", async () => {
    await using gateway = await openCatalog({ rest: { ignoreUnknownFields: true } });
    const body = '{"id":"4","isbn":{"a":[1,1e400,null]}}';
    const response = await gateway.send(send("POST", "/v1/shelves/c/volumes", body));
    expect(jsonOf(response)).toEqual({ name: "shelves/c/volumes/4", id: "4" });
  });

  test("but no parameters of the query", async () => {
    await using gateway = await openCatalog({ rest: { ignoreUnknownFields: true } });
    expect(await gateway.send(get("/v1/shelves/a/volumes?x=1"))).toMatchObject({ status: 400 });
  });

  test("int64 as number is exact", async () => {
    await using gateway = await openCatalog({ rest: { int64: "number" } });
    const { body } = await gateway.send(get(`/v1/volumes/${big}`));
    expect(body.toString()).toBe(`{"name":"shelves/a/volumes/${big}","id":${big},"title":"Emma"}`);
  });

  test("renderError decides status and body", async () => {
    await using gateway = await openCatalog({
      rest: {
        renderError: ({ status, error }) => ({
          status: status === 404 ? 410 : status,
          body: { why: error.rawMessage },
        }),
      },
    });
    const response = await gateway.send(get("/v1/volumes/9"));
    expect(response.status).toBe(410);
    expect(jsonOf(response)).toEqual({ why: "there is no volume 9" });
    expect(await gateway.send(get("/elsewhere"))).toMatchObject({ status: 410 });
  });
});

describe("Retry-After", () => {
  const delay = (seconds: bigint, nanos = 0) => ({
    desc: RetryInfoSchema,
    value: { retryDelay: { seconds, nanos } },
  });

  test.each<[what: string, error: ConnectError, retryAfter: string | null]>([
    [
      "whole seconds of RetryInfo",
      new ConnectError("", Code.Unavailable, undefined, [delay(7n)]),
      "7",
    ],
    [
      "a fraction, rounded up",
      new ConnectError("", Code.Unavailable, undefined, [delay(7n, 1)]),
      "8",
    ],
    ["of another code", new ConnectError("", Code.ResourceExhausted, undefined, [delay(2n)]), "2"],
    ["a 503 without RetryInfo", new ConnectError("", Code.Unavailable), "1"],
    [
      "metadata before RetryInfo",
      new ConnectError("", Code.Unavailable, { "retry-after": "9" }, [delay(7n)]),
      "9",
    ],
    [
      "RetryInfo that says nothing",
      new ConnectError("", Code.Unavailable, undefined, [{ desc: RetryInfoSchema, value: {} }]),
      "1",
    ],
    ["another error", new ConnectError("", Code.ResourceExhausted), null],
  ])("%s", async (_what, error, retryAfter) => {
    await using gateway = await openGetVolume(() => {
      throw error;
    });
    const response = await gateway.send(get("/v1/volumes/1"));
    expect(response.headers.get("retry-after")).toBe(retryAfter);
  });
});

test("WWW-Authenticate comes from the metadata, from the gate as well", async () => {
  const error = () =>
    new ConnectError("who?", Code.Unauthenticated, { "www-authenticate": "Bearer" });
  await using behind = await openGetVolume(() => {
    throw error();
  });
  await using before = await openGetVolume(() => ({}), {
    requestGate: () => {
      throw error();
    },
  });
  for (const gateway of [behind, before]) {
    const response = await gateway.send(get("/v1/volumes/1"));
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
  }
});
