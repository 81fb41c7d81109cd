/** rest.etag: GET with If-None-Match. */
import { describe, expect, test } from "vitest";
import { type Catalog, get, openShelves, send, versions } from "../support/catalog.ts";
import type { SentRequest, TestGatewayOptions } from "../support/gateway.ts";

const volume = get("/v1/shelves/a/volumes/1");
const etag = { rest: { etag: true } };

/** A catalog with one volume, whose implementation may set headers. */
function openOne(
  options: Partial<TestGatewayOptions> = etag,
  { title = "Dune", headers = {} }: { title?: string; headers?: Record<string, string> } = {},
) {
  const catalog: Catalog = {
    getVolume(_request, { responseHeader }) {
      for (const [name, value] of Object.entries(headers)) responseHeader.set(name, value);
      return { title };
    },
    downloadVolume: () => ({ contentType: "text/plain", data: Buffer.from(title) }),
    createVolume: () => ({ title }),
    async *watchVolumes() {
      yield { title };
    },
  };
  return openShelves(catalog, options);
}

describe.each(versions)("over HTTP/%s", (version) => {
  async function tagOf(gateway: Awaited<ReturnType<typeof openOne>>, request = volume) {
    return (await gateway.send({ version, ...request })).headers.get("etag");
  }

  test("the tag of an answer depends on its body, whatever the coding", async () => {
    await using one = await openOne({ ...etag, compressMinBytes: 1 });
    await using other = await openOne(etag, { title: "Emma" });
    const tag = await tagOf(one);
    expect(tag).toMatch(/^W\/"[\w-]{22}"$/);
    expect(await tagOf(one, { ...volume, headers: { "accept-encoding": "gzip" } })).toBe(tag);
    expect(await tagOf(one, { ...volume, method: "HEAD" })).toBe(tag);
    expect(await tagOf(one, get(`${volume.path}:download`))).not.toBe(tag);
    expect(await tagOf(other)).not.toBe(tag);
  });

  test.each<[what: string, request: SentRequest, options: Partial<TestGatewayOptions>]>([
    ["without the option", volume, {}],
    ["of another method", send("POST", "/v1/shelves/a/volumes", {}), etag],
    ["that is a stream", get("/v1/shelves/a/volumes:watch"), etag],
    ["that is an error", get("/v1/nothing"), etag],
  ])("an answer %s has no tag", async (_what, request, options) => {
    await using gateway = await openOne(options);
    expect(await tagOf(gateway, request)).toBeNull();
    const headers = { ...request.headers, "if-none-match": "*" };
    expect((await gateway.send({ version, ...request, headers })).status).not.toBe(304);
  });

  test.each<[known: (tag: string) => string, status: number]>([
    [(tag) => tag, 304],
    [(tag) => tag.slice(2), 304], // compared weakly
    [(tag) => `"other", W/"an, other" ,${tag}`, 304],
    [() => "*", 304],
    [() => '"other"', 200],
    [(tag) => tag.slice(3, -1), 200],
  ])("If-None-Match %s: %s", async (known, status) => {
    await using gateway = await openOne();
    const tag = (await tagOf(gateway)) ?? "";
    for (const method of ["GET", "HEAD"]) {
      const headers = { "if-none-match": known(tag) };
      const response = await gateway.send({ version, ...volume, method, headers });
      expect(response.status).toBe(status);
      expect(response.headers.get("etag")).toBe(tag);
      expect(response.body.length === 0).toBe(status === 304 || method === "HEAD");
    }
  });

  test("304 has the headers of the answer, except those about its body", async () => {
    const headers = { "cache-control": "max-age=60", "x-of-the-application": "1" };
    await using gateway = await openOne({ ...etag, compressMinBytes: 1 }, { headers });
    const known = { "if-none-match": "*", "accept-encoding": "gzip" };
    const response = await gateway.send({ version, ...volume, headers: known });
    expect(response.status).toBe(304);
    const kept = { ...headers, vary: "accept-encoding" };
    expect(Object.fromEntries(response.headers)).toMatchObject(kept);
    for (const name of ["content-type", "content-length", "content-encoding"]) {
      expect(response.headers.has(name), name).toBe(false);
    }
  });

  test.each<[tag: string, known: string, status: number]>([
    ['"v1"', '"v1"', 304],
    ['W/"v1"', '"v1"', 304],
    ['"v1"', '"v2"', 200],
    ['"v1"', '"v1"', 206],
  ])("the application's ETag %s comes first: If-None-Match %s, %s", async (tag, known, status) => {
    const part = { "x-http-code": "206", "content-range": "bytes 0-1/2" };
    const own = { etag: tag, ...(status === 206 && part) };
    await using gateway = await openOne(etag, { headers: own });
    const headers = { "if-none-match": known };
    const response = await gateway.send({ version, ...volume, headers });
    expect(response.status).toBe(status);
    expect(response.headers.get("etag")).toBe(tag);
  });
});
