import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseRequestTarget, resolveUrl } from "../../src/http/target.ts";
import { parseHttp1Responses } from "../support/http1-response.ts";
import { openLibraryAndFields } from "../support/library.ts";
import { openRawConnection } from "../support/raw-connection.ts";

test.each([
  ["/a/b-c_d~e.f", "http://host/a/b-c_d~e.f"],
  ["/a/../b", "http://host/b"],
  ["/a b", "http://host/a%20b"],
  ["http://other/a", "http://other/a"],
  ["http://user@other/a", undefined],
  ["//other/a", "http://host//other/a"],
  ["/\\other/a", "http://host//other/a"],
  ["/a?b=\u00c3\u00a9", undefined],
])("the target %j has the URL %s", (target, url) => {
  expect(resolveUrl("http", "host", target)).toBe(url);
});

test("no host has no URL, and no path is the root", () => {
  expect(parseRequestTarget("http://a")).toEqual({ path: "/", query: "" });
  expect(parseRequestTarget("http://a?b")).toEqual({ path: "/", query: "b" });
  expect(resolveUrl("http", undefined, "/a")).toBeUndefined();
});

test("a plain host and target have the URL that a URL has", () => {
  const host = fc.stringMatching(/^[a-z\d.:-]{1,12}$/);
  const target = fc.stringMatching(/^[/a-z.~?=&%-]{0,8}$/).map((text) => `/${text}`);
  fc.assert(
    fc.property(host, target, (name, path) => {
      const url = resolveUrl("http", name, path);
      if (url !== undefined) expect(url).toBe(URL.parse(`http://${name}${path}`)?.href);
    }),
    { numRuns: 5000 },
  );
});

describe("a request must say where it goes in a form that a URL can be made of:", () => {
  const get = "GET /v1/library HTTP/1.1";
  test.each<[what: string, head: readonly string[], status: number]>([
    ["a name", [get, "Host: localhost"], 200],
    ["a name and an empty port", [get, "Host: example.com:"], 200],
    ["the largest port", [get, "Host: a:65535"], 200],
    ["HTTP/1.0 without a Host", ["GET /v1/library HTTP/1.0"], 200],
    ["a target with a host of its own", ["GET http://b/v1/library HTTP/1.1", "Host: a"], 200],
    ["one in capitals, with a port", ["GET HTTP://[::1]:80/v1/library? HTTP/1.1", "Host: a"], 200],
    ["a target without a path", ["GET http://b?a=/v1/library HTTP/1.1", "Host: a"], 404],
    ["another scheme", ["GET ftp://b/v1/library HTTP/1.1", "Host: a"], 404],
    ["an open bracket", [get, "Host: ["], 400],
    ["a port too large", [get, "Host: a:65536"], 400],
    ["a letter that is not ASCII", [get, "Host: \u00e9"], 400],
    ["nothing", [get, "Host: "], 400],
    ["two hosts", [get, "Host: a", "Host: b"], 400],
    ["no Host", [get], 400],
    ["a target with an open bracket", ["GET http://[/v1/library HTTP/1.1", "Host: a"], 400],
    ["a path that looks like a host", ["GET //[/v1/library HTTP/1.1", "Host: a"], 404],
    ["bytes of UTF-8 in a path", ["GET /v1/caf\u00c3\u00a9 HTTP/1.1", "Host: a"], 400],
    ["the asterisk", ["OPTIONS * HTTP/1.1", "Host: a"], 404],
    ["an authority", ["CONNECT a:80 HTTP/1.1", "Host: a"], 0],
  ])("%s: %j -> %i", async (_what, head, status) => {
    await using gateway = await openLibraryAndFields();
    using connection = await openRawConnection(gateway.port);
    connection.write(Buffer.from(`${head.join("\r\n")}\r\nConnection: close\r\n\r\n`, "latin1"));
    const [response] = parseHttp1Responses(await connection.untilClosed());
    expect(response?.status ?? 0).toBe(status);
    // In any case, the next request is served, and nothing was reported.
    expect((await gateway.send({ method: "GET", path: "/v1/library" })).status).toBe(200);
    expect(gateway.errors).toEqual([]);
  });

  // HTTP/2 itself rejects some of them with a reset.
  const refused = [400, "reset"];
  test.each<[pseudo: string, value: string, outcomes: readonly unknown[]]>([
    [":authority", "a", [200]],
    [":authority", "[", refused],
    [":authority", "a:65536", refused],
    [":authority", "", refused],
    ["host", "a", [200]], // instead of :authority
    ["host", "[", refused],
    [":path", "http://[/v1/library", refused],
    [":path", "//[/v1/library", [404]],
    [":path", "/v1/caf\u00c3\u00a9", [400]],
    [":path", "", refused],
  ])("%s of HTTP/2: %j -> %j", async (pseudo, value, outcomes) => {
    await using gateway = await openLibraryAndFields();
    const request = { version: "2", method: "GET", path: "/v1/library" } as const;
    const outcome = await gateway.send({ ...request, headers: { [pseudo]: value } }).then(
      ({ status }) => status,
      () => "reset",
    );
    expect(outcomes).toContain(outcome);
    expect(await gateway.send(request)).toMatchObject({ status: 200 });
  });
});
