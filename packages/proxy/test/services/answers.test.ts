/** What an upstream says of the status and the headers of an answer, over REST. */
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { CatalogService, get, send, versions } from "../../../gateway/test/support/catalog.ts";
import { jsonOf } from "../../../gateway/test/support/gateway.ts";
import { openProxyOf } from "./open-proxy.ts";

const png = { contentType: "image/png", data: Buffer.from("0123456789") };
const volume = "/v1/shelves/a/volumes/1";

const catalog = (headers: Record<string, string>) => (router: ConnectRouter) => {
  const set = ({ responseHeader }: HandlerContext) => {
    for (const [name, value] of Object.entries(headers)) responseHeader.set(name, value);
  };
  router.service(CatalogService, {
    getVolume(_request, context) {
      set(context);
      return { title: "Dune" };
    },
    downloadVolume: () => png,
    async *streamVolume(_request, context) {
      set(context);
      yield png;
    },
  });
};

describe.each(versions)("over HTTP/%s,", (version) => {
  test.each<[path: string, status: string, headers: Record<string, string>]>([
    [volume, "202", {}],
    [volume, "302", { location: "/v1/shelves/b/volumes/1" }],
    [`${volume}:stream`, "206", { "content-range": "bytes 0-9/20" }],
  ])("%s answers %s with %j, by x-http-code", async (path, status, headers) => {
    await using proxy = await openProxyOf(catalog({ "x-http-code": status, ...headers }));
    const response = await proxy.send({ version, ...get(path) });
    expect(response.status).toBe(Number(status));
    expect(Object.fromEntries(response.headers)).toMatchObject(headers);
    expect(response.headers.has("x-http-code")).toBe(false);
  });
});

test("an x-http-code that is none is an internal error", async () => {
  await using proxy = await openProxyOf(catalog({ "x-http-code": "404" }), { mayFail: true });
  const response = await proxy.send(get(volume));
  expect([response.status, jsonOf(response)]).toMatchObject([500, { message: "internal error" }]);
  expect(String(proxy.errors[0])).toContain("x-http-code 404");
});

test("RPC keeps x-http-code, as metadata", async () => {
  await using proxy = await openProxyOf(catalog({ "x-http-code": "202" }));
  const response = await proxy.send(send("POST", "/library.v1.CatalogService/GetVolume", {}));
  expect([response.status, response.headers.get("x-http-code")]).toEqual([200, "202"]);
});
