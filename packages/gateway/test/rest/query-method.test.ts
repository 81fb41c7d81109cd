/** The HTTP method QUERY, RFC 10008: safe and idempotent like GET, with a body. */
import { describe, expect, test } from "vitest";
import { openBooks } from "../support/books.ts";
import { jsonOf } from "../support/gateway.ts";

const path = "/v1/books";
const queryBooks = ({ pageSize }: { pageSize: number }) => ({ names: [`of ${pageSize}`] });

describe.each(["1.1", "2"] as const)("over HTTP/%s", (version) => {
  test("QUERY has the message as its body", async () => {
    await using books = await openBooks({ queryBooks });
    const headers = { "content-type": "application/json" };
    const request = { version, method: "QUERY", path, headers, body: '{"pageSize":3}' };
    const response = await books.send(request);
    expect([response.status, jsonOf(response)]).toEqual([200, { names: ["of 3"] }]);
    expect((await books.send({ ...request, path: `${path}?pageSize=3` })).status).toBe(400);
    const form = { ...headers, "content-type": "application/x-www-form-urlencoded" };
    expect((await books.send({ ...request, headers: form })).status).toBe(415);
  });

  test("OPTIONS says that there is one, and what it takes", async () => {
    await using books = await openBooks({ queryBooks });
    const { status, headers } = await books.send({ version, method: "OPTIONS", path });
    expect(status).toBe(405);
    expect(headers.get("allow")).toBe("PATCH, POST, QUERY");
    expect(headers.get("accept-query")).toBe("application/json");
    const other = await books.send({ version, method: "OPTIONS", path: "/v1/shelves" });
    expect(other.headers.get("accept-query")).toBeNull();
  });
});
