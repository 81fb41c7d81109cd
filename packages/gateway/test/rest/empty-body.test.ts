/** An empty body, for rules with a body. */
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { askCatalog, type Catalog, json, openShelves, versions } from "../support/catalog.ts";
import { jsonOf, type SentRequest } from "../support/gateway.ts";
import { openRawConnection } from "../support/raw-connection.ts";

/** Answers with a volume whose title describes the request. */
const catalog: Catalog = {
  createVolume: ({ volume }) => ({ title: volume === undefined ? "no volume" : "a volume" }),
  moveVolume: ({ name, to }) => ({ name, title: to === "" ? "nowhere" : to }),
};

const one = "/v1/shelves/a/volumes"; // body: "volume"
const whole = "/v1/shelves/a/volumes/1:move"; // body: "*"

describe.each(versions)("over HTTP/%s, an empty body", (version) => {
  test.each<[what: string, request: SentRequest, title: string]>([
    ["for the whole message", { path: whole }, "nowhere"],
    ["for a field", { path: one }, "a volume"],
    ["that says it is JSON", { path: whole, headers: json }, "nowhere"],
    ["with an empty Content-Type", { path: one, headers: { "content-type": "" } }, "a volume"],
    ["packed", { path: one, headers: { ...json, "content-encoding": "gzip" } }, "a volume"],
  ])("%s is the empty message", async (_what, request, title) => {
    const response = await askCatalog(catalog, { version, ...request });
    expect(response.status).toBe(200);
    expect(jsonOf(response)).toMatchObject({ title });
  });

  test.each<[what: string, status: number, headers: Record<string, string>, body?: string]>([
    ["of JSON in another charset", 415, { "content-type": "application/json; charset=latin1" }],
    ["of an unknown coding", 415, { "content-encoding": "rot13" }],
    ["that is white space declared as JSON", 400, json, " \n"],
  ])("%s is rejected with %s", async (_what, status, headers, body = "") => {
    const request = { version, path: whole, headers, body };
    expect(await askCatalog(catalog, request)).toMatchObject({ status });
  });

  test.each<[what: string, body: string | Uint8Array, headers?: Record<string, string>]>([
    ["JSON", "{}"],
    ["nothing, packed", gzipSync(""), { "content-encoding": "gzip" }],
  ])("does not count if it is %s: without a Content-Type, 415", async (_, body, headers = {}) => {
    const response = await askCatalog(catalog, { version, path: whole, headers, body });
    expect(response.status).toBe(415);
    expect(response.headers.get("accept")).toBe("application/json");
  });
});

const head = `POST ${whole} HTTP/1.1\r\nHost: a\r\n`;

test.each<[what: string, sent: string, status: number]>([
  ["chunks that end at once", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200],
  ["a length, before the body", "Content-Length: 2\r\n\r\n", 415],
  ["a chunk, before the next", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", 415],
  // A client that expects 100 (Continue) announces a body, RFC 9110 section 10.1.1.
  ["a body to come", "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n", 415],
])("without a Content-Type %s: %3$s", async (_what, sent, status) => {
  await using gateway = await openShelves(catalog);
  using connection = await openRawConnection(gateway.port);
  connection.write(head + sent);
  const received = await connection.until("the answer", (bytes) => bytes.includes("}"));
  const statuses = [...received.toString().matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, one]) => one);
  expect(statuses.at(-1)).toBe(String(status)); // Node itself answers 100 first
});
