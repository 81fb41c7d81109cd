/** Headers that the implementation sees and sets, and those of an error. */
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { type Catalog, get, openCatalogOf, versions } from "../support/catalog.ts";
import type { TestGatewayOptions } from "../support/gateway.ts";

function openGetVolume(
  getVolume: NonNullable<Catalog["getVolume"]>,
  options: Partial<TestGatewayOptions> = {},
) {
  return openCatalogOf({ getVolume }, options);
}

describe.each(versions)("over HTTP/%s,", (version) => {
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
