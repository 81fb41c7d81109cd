/** When a stream begins, and how long it may take: as long as its call. */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { collect } from "../support/collect.ts";
import { openFields } from "../support/echo.ts";
import { envelope } from "../support/envelope.ts";
import { openProtocols } from "../support/open-client.ts";
import { openTestService } from "../support/test-service.ts";
import { within } from "../support/within.ts";

describe("a client stream that takes longer than a request may", () => {
  const limits = { requestTimeoutMs: 200 };

  const openImport = () =>
    openTestService({
      limits,
      catalog: {
        importVolumes: async (requests) => ({ count: BigInt((await collect(requests)).length) }),
      },
    });

  test.concurrent.each(openProtocols)("is served over $name", async ({ open }) => {
    await using server = await openImport();
    using caller = open(CatalogService, server.origin);
    async function* requests() {
      yield { parent: "shelves/a" };
      await sleep(1000); // the limit strikes up to twice as late
      yield { parent: "shelves/a" };
    }
    expect(await within("the answer", caller.client.importVolumes(requests()))).toMatchObject({
      count: 2n,
    });
  });
});

const types = ["application/connect+proto", "application/grpc-web+proto", "application/grpc"];

// Clients may wait for it.
test.concurrent.each(types)("the head of a stream leaves before its messages: %s", async (type) => {
  await using gateway = await openFields({
    // biome-ignore lint/correctness/useYield: it answers nothing
    async *repeat(_message, context) {
      context.responseHeader.set("x-head", "1");
      if (!context.signal.aborted) await once(context.signal, "abort");
    },
  });
  const client = new AbortController();
  const asked = fetch(`${gateway.origin("1.1")}/library.v1.FieldService/Repeat`, {
    method: "POST",
    headers: { "content-type": type },
    body: new Uint8Array(envelope("")),
    signal: client.signal,
  });
  const { status, headers } = await within("the head", asked);
  expect(status).toBe(200);
  expect(headers.get("x-head")).toBe("1");
  client.abort();
});
