/** The status of an answer: by x-http-code of its implementation, or by rest.statuses of its method. */
import { once } from "node:events";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { askCatalog, type Catalog, get, openShelves, send, versions } from "../support/catalog.ts";
import { jsonOf, type SentRequest } from "../support/gateway.ts";
import { within } from "../support/within.ts";

const location = { location: "/v1/shelves/b/volumes/1" };
const part = { "content-range": "bytes 0-1/10" };

/** Each kind of method with these headers. */
function catalogOf(headers: Record<string, string>, error?: ConnectError): Catalog {
  const set = ({ responseHeader }: { responseHeader: Headers }) => {
    for (const [name, value] of Object.entries(headers)) responseHeader.set(name, value);
    if (error !== undefined) throw error;
  };
  return {
    getVolume(_request, context) {
      set(context);
      return { title: "Dune" };
    },
    async importVolumes(requests, context) {
      for await (const _ of requests);
      set(context);
      return { count: 2n };
    },
    downloadVolume(_request, context) {
      set(context);
      return { contentType: "image/png", data: Buffer.from("01") };
    },
    async *streamVolume(_request, context) {
      set(context);
      yield { contentType: "image/png", data: Buffer.from("01") };
    },
    createVolume(_request, context) {
      set(context);
      return { title: "Dune" };
    },
    async *watchVolumes() {
      yield { title: "Dune" };
    },
  };
}

const volume = "/v1/shelves/a/volumes/1";
const calls: Readonly<Record<string, SentRequest>> = {
  GetVolume: get(volume),
  ImportVolumes: send("POST", "/v1/shelves/a/volumes:import", []),
  DownloadVolume: get(`${volume}:download`),
  StreamVolume: get(`${volume}:stream`),
  CreateVolume: send("POST", "/v1/shelves/a/volumes", {}),
  WatchVolumes: get("/v1/shelves/a/volumes:watch"),
};

const callOf = (name: string) => calls[name] ?? expect.unreachable();

describe.each(versions)("over HTTP/%s:", (version) => {
  const rows = ["GetVolume", "ImportVolumes", "DownloadVolume", "StreamVolume"].flatMap((call) =>
    [
      ["202", {}],
      ["206", part],
      ["302", location],
      ["303", location],
      ["308", location],
    ].map(([status, headers]) => [call, status as string, headers as object] as const),
  );

  test.each(rows)("%s answers %s with %j", async (call, status, headers) => {
    const catalog = catalogOf({ "x-http-code": status, ...headers });
    const response = await askCatalog(catalog, { version, ...callOf(call) });
    expect(response.status).toBe(Number(status));
    expect(Object.fromEntries(response.headers)).toMatchObject(headers);
    expect(response.headers.has("x-http-code")).toBe(false);
    expect(response.body.length).toBeGreaterThan(0);
  });

  test("204 has no body", async () => {
    const catalog = catalogOf({ "x-http-code": "204" });
    const response = await askCatalog(catalog, { version, ...get(volume) });
    expect([response.status, response.body.length]).toEqual([204, 0]);
  });

  test("a head that is wrong is an internal error, also before the first message", async () => {
    const streamVolume: Catalog["streamVolume"] = async function* (_, { responseHeader, signal }) {
      responseHeader.set("x-http-code", "404");
      yield (await once(signal, "abort")) as never;
    };
    await using gateway = await openShelves({ streamVolume }, { mayFail: true });
    const request = { version, ...callOf("StreamVolume"), method: "HEAD" };
    expect((await within("an answer", gateway.send(request))).status).toBe(500);
    expect(gateway.errors.map(String)).toEqual([expect.stringContaining("x-http-code 404")]);
  });
});

test.each<[call: string, headers: Record<string, string>]>([
  ...["", "abc", "0xca", "2e2", "199", "226", "300", "304", "404", "500", "202, 202"].map(
    (status) => ["GetVolume", { "x-http-code": status }] as [string, Record<string, string>],
  ),
  ["GetVolume", { "x-http-code": "302" }], // without Location
  ["GetVolume", { "x-http-code": "206" }], // without Content-Range
  ["StreamVolume", { "x-http-code": "204" }],
])("%s with %j is an internal error", async (call, headers) => {
  await using gateway = await openShelves(catalogOf(headers), { mayFail: true });
  const response = await gateway.send(callOf(call));
  expect([response.status, jsonOf(response)]).toMatchObject([500, { message: "internal error" }]);
  expect(String(gateway.errors[0])).toContain("x-http-code");
});

test("RPC keeps the header, as metadata", async () => {
  const request = send("POST", "/library.v1.CatalogService/GetVolume", {});
  const response = await askCatalog(catalogOf({ "x-http-code": "202" }), request);
  expect([response.status, response.headers.get("x-http-code")]).toEqual([200, "202"]);
});

test("an error has its own status, and none of the headers about the body", async () => {
  const headers = { "x-http-code": "202", "content-encoding": "gzip", "x-mine": "1" };
  const error = new ConnectError("no", Code.NotFound);
  const response = await askCatalog(catalogOf(headers, error), get(volume));
  expect([response.status, jsonOf(response)]).toMatchObject([404, { message: "no" }]);
  expect(Object.fromEntries(response.headers)).toMatchObject({ "x-mine": "1" });
  for (const name of ["x-http-code", "content-encoding"]) {
    expect(response.headers.has(name), name).toBe(false);
  }
});

test("a redirect is not confused with a version: If-None-Match does not apply", async () => {
  const catalog = catalogOf({ "x-http-code": "302", ...location });
  const request = { ...get(volume), headers: { "if-none-match": "*" } };
  expect((await askCatalog(catalog, request, { rest: { etag: true } })).status).toBe(302);
});

const service = "library.v1.CatalogService";

const found = catalogOf({ ...location, "content-type": "text/html" });

describe.each(versions)("rest.statuses over HTTP/%s", (version) => {
  const methods = ["CreateVolume", "GetVolume", "ImportVolumes", "WatchVolumes"];
  const rows = methods.flatMap((method) => {
    const statuses = method === "WatchVolumes" ? [201, 299] : [201, 204, 205, 299];
    return statuses.map((status) => [method, status] as const);
  });

  test.each(rows)("%s answers success with %s", async (method, status) => {
    const statuses = { [`${service}.${method}`]: status };
    const request = { version, ...callOf(method) };
    const response = await askCatalog(found, request, { rest: { statuses } });
    expect(response.status).toBe(status);
    if (method === "CreateVolume") expect(response.headers.get("location")).toBe(location.location);
    const isBodiless = status === 204 || status === 205;
    expect(response.body.length === 0).toBe(isBodiless);
    if (isBodiless) expect(response.headers.has("content-type")).toBe(false);
    const length = response.headers.get("content-length");
    if (isBodiless) expect(length).toBe(status === 204 ? null : "0");
  });

  test("other methods, and failures, keep their status", async () => {
    const statuses = { [`${service}.CreateVolume`]: 201 };
    await using gateway = await openShelves(found, { rest: { statuses } });
    expect(await gateway.send({ version, ...get(volume) })).toMatchObject({ status: 200 });
    const bad = send("POST", "/v1/shelves/a/volumes", { isbn: 1 });
    expect(await gateway.send({ version, ...bad })).toMatchObject({ status: 400 });
    const rpc = { path: `/${service}/CreateVolume`, headers: bad.headers ?? {}, body: "{}" };
    const response = await gateway.send({ version, ...rpc });
    expect(response.status).toBe(200);
    expect(jsonOf(response)).toEqual({ title: "Dune" });
  });
});

test.each<[selector: string, status: number, reason: string]>([
  ["Nothing", 201, "REST serves no method of that name"],
  ["CreateVolume", 199, "199 is no status of success"],
  ["CreateVolume", 206, "206 is no status of success"],
  ["WatchVolumes", 204, "204 has no body, and the method answers a stream"],
  ["StreamVolume", 205, "205 has no body, and the method answers a stream"],
  ["ListVolumes", 201, "REST serves no method of that name"],
])("startup fails for rest.statuses of %s: %s", (method, status, reason) => {
  const statuses = { [`${service}.${method}`]: status };
  const rules = [{ selector: `${service}.ListVolumes` }]; // without a pattern
  expect(() => openShelves(found, { rest: { rules, statuses } })).toThrow(
    `rest.statuses["${service}.${method}"]: ${reason}`,
  );
});
