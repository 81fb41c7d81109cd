/** Deadlines of a call through a proxy, and its end by either side. */
import { constants } from "node:http2";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { answerOk, openFakeServer } from "../../../gateway/test/client/fake-server.ts";
import { CatalogService } from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import { openProtocols } from "../../../gateway/test/support/open-client.ts";
import { within } from "../../../gateway/test/support/within.ts";
import { openProxy } from "./open-proxy.ts";

/** The deadline that an upstream was sent, in ms. */
function deadlineIn(timeout: unknown): number {
  const [, digits, unit] = /^(\d{1,8})([mS])$/.exec(String(timeout)) ?? [];
  return Number(digits) * (unit === "S" ? 1000 : 1);
}

describe("an upstream gets the rest of the caller's deadline, never more:", () => {
  test.each(openProtocols)("over $name", async ({ open, version }) => {
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
});

describe.each(openProtocols)("over $name,", ({ open, version }) => {
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
