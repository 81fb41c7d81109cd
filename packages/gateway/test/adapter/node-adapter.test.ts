import type { ServerResponse } from "node:http";
import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import { describe, expect, test, vi } from "vitest";
import { gatewayNodeAdapter, type NodeHandler } from "../../src/index.ts";
import { jsonOf, openHandler } from "../support/gateway.ts";
import { openLibraryAndFields } from "../support/library.ts";
import { openRawConnection } from "../support/raw-connection.ts";

const json = { "content-type": "application/json" };
const failure = new Error("secret");
const broken = () => {
  throw failure;
};

describe.each(["1.1", "2"] as const)("over HTTP/%s,", (version) => {
  test.each<[method: string, path: string, allow: string]>([
    ["POST", "/v1/library", "DELETE, GET, HEAD, PATCH, PUT"],
    ["GET", "/v1/shelves", "POST"],
    ["PUT", "/v1/books", "POST, SEARCH"],
  ])("%s %s is not allowed, and the answer lists what is", async (method, path, allow) => {
    await using gateway = await openLibraryAndFields();
    const response = await gateway.send({ version, method, path });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe(allow);
    const message = `the method must be ${allow}`;
    expect(jsonOf(response)).toEqual({ code: Code.Unimplemented, message, details: [] });
  });

  const notFound = [
    ...["/", "/v1/library/", "//v1/library", "/V1/library", "/v1%2Flibrary", "/v1/../v1/library"],
    ...["/v1/library:a", "/library.v1.LibraryService/Nothing", "/%", "/__proto__", "/?/v1/library"],
  ];

  test.each(notFound)("%s is not found", async (path) => {
    await using gateway = await openLibraryAndFields();
    const response = await gateway.send({ version, method: "GET", path });
    expect(response.status).toBe(404);
    const error = { code: Code.NotFound, message: "nothing is served at this path", details: [] };
    expect(jsonOf(response)).toEqual(error);
  });
});

test("what is not found may have another reason, in text that is well-formed", async () => {
  const notFoundError = () => new ConnectError("a\ud800b", Code.Unavailable);
  await using gateway = await openLibraryAndFields({ notFoundError });
  const headers = { "content-type": "application/json", "connect-protocol-version": "1" };
  const response = await gateway.send({ method: "POST", path: "/a.B/C", headers, body: "{}" });
  expect(response.status).toBe(503);
  expect(jsonOf(response)).toMatchObject({ code: "unavailable", message: "a\ufffdb" });
});

describe("fallback", () => {
  const fallback: NodeHandler = (request, response) => {
    response.writeHead(203, { "x-url": request.url ?? "" });
    response.end("fallback");
  };

  test("answers what neither RPC nor REST serves", async () => {
    await using gateway = await openLibraryAndFields({ fallback });
    const response = await gateway.send({ method: "GET", path: "/assets/a?b" });
    expect(response.status).toBe(203);
    expect(response.headers.get("x-url")).toBe("/assets/a?b");
    expect(response.body.toString()).toBe("fallback");
  });

  test.each([
    ["another method of a REST path", { method: "GET", path: "/v1/shelves" }, 405],
    ["another method of an RPC", { method: "PUT", path: "/library.v1.FieldService/Echo" }, 405],
    ["a REST path", { method: "GET", path: "/v1/library" }, 200],
    ["a Host that is none", { method: "GET", path: "/", headers: { host: "a b" } }, 400],
  ])("is not called for %s", async (_what, request, status) => {
    await using gateway = await openLibraryAndFields({ fallback });
    expect(await gateway.send(request)).toMatchObject({ status });
  });
});

describe("contextValues", () => {
  test("is called once for each call, with Node's request", async () => {
    const asked: (string | undefined)[] = [];
    await using gateway = await openLibraryAndFields({
      contextValues(request) {
        asked.push(request.url);
        return createContextValues();
      },
    });
    await gateway.send({ method: "GET", path: "/v1/library" });
    await gateway.send({ path: "/library.v1.FieldService/Echo", headers: json, body: "{}" });
    await gateway.send({ path: "/elsewhere" });
    expect(asked).toEqual(["/v1/library", "/library.v1.FieldService/Echo"]);
  });

  test("needs Node's request, which streams of HTTP/2 lack", () => {
    const handler = gatewayNodeAdapter({ routes: () => {}, contextValues: createContextValues });
    expect(handler.serveStream(null as never, { ":path": "/" })).toBe(false);
  });

  test("that throws is an internal error, and is reported", async () => {
    await using gateway = await openLibraryAndFields({ mayFail: true, contextValues: broken });
    for (const path of ["/v1/fields", "/library.v1.FieldService/Echo"]) {
      const response = await gateway.send({ path, headers: json, body: "{}" });
      expect(response.status).toBe(500);
      expect(response.body.toString()).not.toContain("secret");
    }
    expect(gateway.errors).toEqual([failure, failure]);
  });
});

test("an error in the middle of a response ends the connection, and does not look like an answer", async () => {
  await using gateway = await openLibraryAndFields({
    mayFail: true,
    fallback: (_request, response) => {
      (response as ServerResponse).write("half");
      throw new Error("broken");
    },
  });
  using connection = await openRawConnection(gateway.port);
  connection.write("GET /elsewhere HTTP/1.1\r\nHost: a\r\n\r\n");
  const received = (await connection.untilClosed()).toString();
  expect(received).not.toContain("internal error");
  expect(received.endsWith("0\r\n\r\n")).toBe(false);
  expect(gateway.errors).toHaveLength(1);
});

describe("a reported error", () => {
  test("goes to console.error if there is no other handler, as in connect-es", async () => {
    using reported = vi.spyOn(console, "error").mockReturnValue();
    const handler = gatewayNodeAdapter({ routes: () => {}, fallback: broken });
    await using server = await openHandler(handler);
    expect(await server.send({ path: "/" })).toMatchObject({ status: 500 });
    expect(reported.mock.calls).toEqual([[failure]]);
  });

  // Vitest fails for a rejection that nobody handles, which would end the process of a user.
  test.each([
    ["/v1/library?unknown", {}],
    ["/elsewhere", {}],
    ["/elsewhere", { fallback: () => Promise.reject(new Error("of a fallback")) }],
  ])("is that of renderError, which always throws: %s with %o", async (path, own) => {
    const options = { ...own, mayFail: true, rest: { renderError: broken } };
    await using gateway = await openLibraryAndFields(options);
    expect(await gateway.send({ method: "GET", path })).toMatchObject({ status: 500 });
    expect(gateway.errors).toContain(failure);
  });
});
