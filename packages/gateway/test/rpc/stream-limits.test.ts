/** How long a stream may take: as long as its call, unless nothing moves. */
import { setTimeout as sleep } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { versions } from "../support/catalog.ts";
import { jsonOf, openGateway } from "../support/gateway.ts";
import { openProtocols } from "../support/open-client.ts";
import { openTestService } from "../support/test-service.ts";
import { within } from "../support/within.ts";

const isIdle = { code: Code.DeadlineExceeded, rawMessage: "no message for 200 ms" };

function never(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
}

const openResting = () =>
  openGateway({
    streamIdleTimeoutMs: 200,
    routes: (router) => {
      router.service(FieldService, {
        async *repeat(message, { signal }) {
          yield message;
          await never(signal);
        },
        async collect(messages) {
          for await (const _ of messages);
          return {};
        },
      });
      router.service(CatalogService, {
        async *watchVolumes(_, { signal }) {
          yield { id: 1n };
          await never(signal);
        },
      });
    },
  });

describe.each(openProtocols)("streamIdleTimeoutMs over $name", ({ open, version }) => {
  test("ends a stream whose server sends nothing more", async () => {
    await using gateway = await openResting();
    using caller = open(FieldService, gateway.origin(version));
    const answers = caller.client.repeat({ string: "a" })[Symbol.asyncIterator]();
    expect(await answers.next()).toMatchObject({ value: { string: "a" } });
    await expect(within("the end", answers.next())).rejects.toMatchObject(isIdle);
  });

  test("ends a stream whose client sends nothing more", async () => {
    await using gateway = await openResting();
    using caller = open(FieldService, gateway.origin(version));
    const over = Promise.withResolvers<void>();
    async function* messages() {
      yield {};
      await over.promise;
    }
    const call = within("the end", caller.client.collect(messages()));
    await expect(call).rejects.toMatchObject(isIdle);
    over.resolve();
  });
});

test.each(versions)("streamIdleTimeoutMs over REST and HTTP/%s", async (version) => {
  await using gateway = await openResting();
  const path = "/v1/shelves/a/volumes:watch";
  const { body } = await gateway.send({ version, method: "GET", path });
  const [first = "", last = ""] = body.toString().trim().split("\n");
  expect(JSON.parse(first)).toMatchObject({ id: "1" });
  expect(JSON.parse(last)).toMatchObject({ error: { code: 4, message: isIdle.rawMessage } });
});

test.each(versions)("streamIdleTimeoutMs over server-sent events and HTTP/%s", async (version) => {
  await using gateway = await openResting();
  const path = "/v1/shelves/a/volumes:watch";
  const headers = { accept: "text/event-stream" };
  const { body } = await gateway.send({ version, method: "GET", path, headers });
  const [first = "", last = ""] = body.toString().trim().split("\n\n");
  expect(first).toContain('"id":"1"');
  expect(last).toMatch(/^event: error\n/);
  expect(last).toContain(isIdle.rawMessage);
});

describe("a client stream that takes longer than a request may", () => {
  const limits = { requestTimeoutMs: 200 };
  /** The limit strikes up to twice as late. */
  const longMs = 1000;

  async function openImport() {
    return await openTestService({
      limits,
      catalog: {
        async importVolumes(requests) {
          let count = 0n;
          for await (const _ of requests) count++;
          return { count };
        },
      },
    });
  }

  test.concurrent.each(openProtocols)("is served over $name", async ({ open }) => {
    await using server = await openImport();
    using caller = open(CatalogService, server.origin);
    async function* requests() {
      yield { parent: "shelves/a" };
      await sleep(longMs);
      yield { parent: "shelves/a" };
    }
    expect(await within("the answer", caller.client.importVolumes(requests()))).toMatchObject({
      count: 2n,
    });
  });

  test.concurrent("is served over REST", async () => {
    await using server = await openImport();
    async function* lines() {
      yield new TextEncoder().encode("{}\n");
      await sleep(longMs);
      yield new TextEncoder().encode("{}\n");
    }
    const response = await fetch(`${server.origin}/v1/shelves/a/volumes:import`, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson" },
      body: lines() as unknown as BodyInit,
      duplex: "half",
    } as RequestInit);
    const body = Buffer.from(await response.arrayBuffer());
    expect({ status: response.status, body: jsonOf({ body }) }).toEqual({
      status: 200,
      body: { count: "2" },
    });
  });
});
