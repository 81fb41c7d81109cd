/** Calls through a proxy: each way as fast as the slower side, to their end by either side, in time. */
import { randomBytes } from "node:crypto";
import { constants } from "node:http2";
import { Code, ConnectError, type Interceptor, type ServiceImpl } from "@connectrpc/connect";
import { createWritableIterable } from "@connectrpc/connect/protocol";
import { createMcp } from "connect-gateway/mcp";
import { describe, expect, test } from "vitest";
import {
  answerOk,
  answerWith,
  grpcHead,
  openFakeServer,
} from "../../../gateway/test/client/fake-server.ts";
import { CatalogService } from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import { FieldService } from "../../../gateway/test/gen/library/v1/fields_pb.ts";
import { createEchoService } from "../../../gateway/test/support/echo.ts";
import { grpcProtocol, openProtocols } from "../../../gateway/test/support/open-client.ts";
import { within } from "../../../gateway/test/support/within.ts";
import { openProxy, openProxyOf } from "./open-proxy.ts";

test("an upstream that says nothing does not hold back the head of MCP", async () => {
  await using fake = await openFakeServer(() => {});
  const mcp = createMcp({ tools: [CatalogService.typeName], streamTimeMs: 1e9 });
  await using proxy = await openProxy({ url: fake.url, mcp });
  const params = { name: "watch_volumes", arguments: { parent: "a" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  const asked = fetch(`${proxy.origin("1.1")}/mcp`, { method: "POST", headers, body });
  expect((await within("the head", asked)).status).toBe(200);
});

const openFields = (service: Partial<ServiceImpl<typeof FieldService>> = createEchoService()) =>
  openProxyOf((router) => router.service(FieldService, service));

test("in a stream each way, each answer may wait for the one before", async () => {
  await using proxy = await openFields();
  using caller = grpcProtocol.open(FieldService, proxy.origin("2"));
  const asking = createWritableIterable<{ string: string }>();
  const answers = caller.client.exchange(asking)[Symbol.asyncIterator]();
  for (const string of ["one", "two", "three"]) {
    void asking.write({ string });
    expect(await within("an answer", answers.next())).toMatchObject({ value: { string } });
  }
  asking.close();
  expect(await answers.next()).toMatchObject({ done: true });
});

test("a deadline that has passed is one for the upstream, too", async () => {
  const asked = Promise.withResolvers<unknown>();
  const call = (...[, , timeoutMs]: unknown[]) => {
    asked.resolve(timeoutMs);
    return Promise.reject(new ConnectError("away"));
  };
  const interceptor: Interceptor = (next) => (request) => {
    for (const begun = performance.now(); performance.now() < begun + 100; ); // no timer runs
    return next(request);
  };
  const proxy = { transport: { unary: call, stream: call } };
  await using gateway = await openProxy({ url: "http://a", proxy, interceptors: [interceptor] });
  // Without a client that gives up by its own clock, perhaps before it has called.
  const headers = { "connect-timeout-ms": "50" };
  const { status } = await gateway.send({ method: "GET", path: "/v1/volumes/1", headers });
  expect([status, await within("the call of the upstream", asked.promise)]).toEqual([500, 1]);
});

/** Of a message that is large beside what a stream may send unread, compressed as well. */
const large = randomBytes(48 * 1024).toString("base64");

/** The deadline that an upstream was sent, in ms. */
function deadlineIn(timeout: unknown): number {
  const [, digits, unit] = /^(\d{1,8})([mS])$/.exec(String(timeout)) ?? [];
  return Number(digits) * (unit === "S" ? 1000 : 1);
}

describe.each(openProtocols)("over $name,", ({ version, open }) => {
  test("a caller that takes nothing is sent a window, and others are served", async () => {
    let sent = 0;
    await using proxy = await openFields({
      async *repeat() {
        for (; sent < 10_000; sent++) yield { string: large };
      },
      echo: (message) => message,
    });
    using caller = open(FieldService, proxy.origin(version));
    const slow = caller.client.repeat({})[Symbol.asyncIterator]();
    await slow.next();
    for (let calls = 0; calls < 100; calls++) await caller.client.echo({ string: "one" });
    // 2 MiB of the upstream. HTTP/1.1 has the buffers of a socket between, of some MiB on either side.
    expect(sent).toBeLessThan(version === "2" ? 150 : 500);
    await slow.return?.();
  });

  test("an upstream gets the rest of the caller's deadline, never more", async () => {
    const seen: unknown[] = [];
    await using fake = await openFakeServer((stream, headers) => {
      seen.push(headers["grpc-timeout"]);
      answerOk(stream, headers);
    });
    await using proxy = await openProxy({ url: fake.url });
    using caller = open(CatalogService, proxy.origin(version));
    await caller.client.getVolume({}, { timeoutMs: 60_000 });
    for await (const _ of caller.client.watchVolumes({ parent: "a" }, { timeoutMs: 60_000 }));
    await caller.client.getVolume({});
    const [unary, stream, none] = seen;
    for (const one of [unary, stream]) {
      expect(deadlineIn(one)).toBeGreaterThan(30_000);
      expect(deadlineIn(one)).toBeLessThanOrEqual(60_000);
    }
    expect(none).toBeUndefined();
  });

  test("headers that the upstream sends after more than a second are passed on", async () => {
    const answer = answerWith({ "grpc-status": "0" }, { head: { ...grpcHead, "x-region": "eu" } });
    await using fake = await openFakeServer((...call) => setTimeout(answer, 1100, ...call));
    await using proxy = await openProxy({ url: fake.url });
    using caller = open(CatalogService, proxy.origin(version));
    const regions: unknown[] = [];
    const onHeader = (header: Headers) => regions.push(header.get("x-region"));
    for await (const _ of caller.client.watchVolumes({ parent: "a" }, { onHeader }));
    expect(regions).toEqual(["eu"]);
  });

  test("a caller that leaves ends the upstream's call", async () => {
    const begun = Promise.withResolvers<void>();
    const reset = Promise.withResolvers<number>();
    await using fake = await openFakeServer((stream) => {
      stream.on("close", () => reset.resolve(stream.rstCode));
      begun.resolve();
    });
    await using proxy = await openProxy({ url: fake.url });
    using caller = open(CatalogService, proxy.origin(version));
    const leaving = new AbortController();
    const called = caller.client.getVolume({}, { signal: leaving.signal });
    await within("the call", begun.promise);
    leaving.abort();
    await expect(called).rejects.toMatchObject({ code: Code.Canceled });
    expect(await within("the reset", reset.promise)).toBe(constants.NGHTTP2_CANCEL);
  });
});
