/** The page as HTTP sees it: headers, validators, methods, paths. */
import { describe, expect, test } from "vitest";
import {
  exchange,
  type HttpRequest,
  type HttpVersion,
} from "../../packages/gateway/test/support/exchange.ts";
import { pageFiles } from "../../src/server/page/handlers.ts";
import { get } from "../support/plant-request.ts";
import { expectRestError } from "../support/rest-error.ts";
import { knownToken, openTestServer } from "../support/test-server.ts";
import { useTestServer } from "../support/use-test-server.ts";

const paths = [...pageFiles.keys()];

const types: Readonly<Record<string, string>> = {
  ...{ html: "text/html", css: "text/css", js: "text/javascript" },
  ...{ json: "application/json", svg: "image/svg+xml" },
};

const policies = [
  ...["script-src", "style-src", "connect-src"].map((name) => `${name} 'self'`),
  ...["default-src", "base-uri", "form-action", "frame-ancestors"].map((name) => `${name} 'none'`),
];

describe.each<[basePath: string, version: HttpVersion]>([
  ["", "1.1"],
  ["/api", "2"],
])("below %s/ over HTTP/%s", (basePath, version) => {
  const server = useTestServer({ basePath, auth: { tokens: [knownToken], tokenFile: "/none/a" } });

  function send(path: string, request: Partial<HttpRequest> = {}) {
    const { origin } = new URL(server.url);
    return exchange({ origin, version, method: "GET", path: basePath + path, ...request });
  }

  test.each(paths)(
    "%s is there without a token, may do little, and is sent again only when it has changed",
    async (path) => {
      const got = await send(path);
      expect(got.status).toBe(200);
      expect(got.body.length).toBeGreaterThan(0);
      expect(got.body.includes("/none/a")).toBe(false);
      expect(got.headers.get("content-length")).toBe(String(got.body.length));
      expect(got.headers.get("x-content-type-options")).toBe("nosniff");
      expect(got.headers.get("cross-origin-resource-policy")).toBe("same-origin");
      expect(got.headers.get("cache-control")).toBe("no-cache");
      const extension = /\.(\w+)$/.exec(path)?.[1] ?? "html";
      expect(got.headers.get("content-type")).toBe(`${types[extension]}; charset=utf-8`);
      const policy = got.headers.get("content-security-policy")?.split("; ");
      expect(policy).toEqual(expect.arrayContaining(policies));
      expect(policy?.join()).not.toContain("unsafe");

      const head = await send(path, { method: "HEAD" });
      expect(head.status).toBe(200);
      expect(head.body).toHaveLength(0);
      for (const name of ["content-length", "content-type", "etag", "content-security-policy"]) {
        expect(head.headers.get(name)).toBe(got.headers.get(name));
      }

      const etag = got.headers.get("etag") ?? "";
      expect(etag).toMatch(/^"[\w-]{22}"$/);
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const again = await send(path, { headers: { "if-none-match": known } });
        expect(again.status).toBe(304);
        expect(again.body).toHaveLength(0);
        expect(again.headers.get("etag")).toBe(etag);
      }
      expect((await send(path, { headers: { "if-none-match": '"other"' } })).status).toBe(200);
    },
  );

  test.each(["POST", "PUT", "DELETE", "OPTIONS"])("%s gets 405, and an Allow", async (method) => {
    for (const path of ["/", "/docs", "/openapi.json", "/page/page.js"]) {
      const got = await send(path, { method });
      expect(got.status).toBe(405);
      expect(got.headers.get("allow")).toBe("GET, HEAD");
      expectRestError(got, { error: 12 });
    }
  });

  const unserved = ["/page", "/docs/", "/page/handlers.ts", "/page/../docs", "/page/%2e%2e/docs"];
  test.each(unserved)("nothing is served at %s", async (path) => {
    expect((await send(path)).status).toBe(404);
  });

  test("openapi.json names the place of the operation", async () => {
    const document = JSON.parse((await send("/openapi.json")).body.toString());
    expect(document.servers).toEqual([{ url: basePath || "/" }]);
    expect(Object.keys(document.paths)).toEqual(["/plants"]);
  });
});

test("the base path alone leads to the page", async () => {
  await using server = await openTestServer({ basePath: "/api" });
  const { origin } = new URL(server.url);
  const got = await get(origin, "/api");
  expect(got.status).toBe(308);
  expect(got.headers.get("location")).toBe("/api/");
  expect((await get(origin, "/")).status).toBe(404);
});

test("a file that cannot be read is told, and is read again by the next request", async () => {
  const server = await openTestServer();
  const { url } = pageFiles.get("/docs") ?? expect.fail();
  url.pathname += "x";
  expectRestError(await get(server.url, "/docs"), { error: 13 });
  url.pathname = url.pathname.slice(0, -1);
  expect(await (await fetch(`${server.url}/docs`)).text()).toContain("another plant has this id");
  await expect(server.close()).rejects.toThrow("cannot read the page");
});

test("nothing of it is there when the page is off", async () => {
  await using server = await openTestServer({ page: false });
  for (const path of paths) {
    const got = await get(server.url, path);
    expect(got.status).toBe(404);
    expectRestError(got, { error: 5 });
  }
});
