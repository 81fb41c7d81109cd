/** How long a stream may take: as long as its call, unless nothing moves. */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { versions } from "../support/catalog.ts";
import { collect } from "../support/collect.ts";
import { jsonOf, openGateway } from "../support/gateway.ts";
import { openProtocols } from "../support/open-client.ts";
import { openTestService } from "../support/test-service.ts";
import { within } from "../support/within.ts";

const isIdle = { code: Code.DeadlineExceeded, rawMessage: "no message for 200 ms" };

const openResting = () =>
  openGateway({
    streamIdleTimeoutMs: 200,
    routes: (router) => {
      router.service(FieldService, {
        async *repeat(message, { signal }) {
          yield message;
          await once(signal, "abort");
        },
        async collect(messages) {
          for await (const _ of messages);
          return {};
        },
      });
      router.service(CatalogService, {
        async *watchVolumes(_, { signal }) {
          yield { id: 1n };
          await once(signal, "abort");
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

describe.each(versions)("streamIdleTimeoutMs over REST and HTTP/%s", (version) => {
  test.each([
    [
      "lines of JSON",
      "application/x-ndjson",
      /"id":"1".*\n{"error":{"code":4,.*no message for 200 ms/,
    ],
    [
      "server-sent events",
      "text/event-stream",
      /"id":"1".*\n\nevent: error\n.*no message for 200 ms/,
    ],
  ])("ends %s", async (_what, accept, answer) => {
    await using gateway = await openResting();
    const path = "/v1/shelves/a/volumes:watch";
    const { body } = await gateway.send({ version, method: "GET", path, headers: { accept } });
    expect(body.toString()).toMatch(answer);
  });
});

describe("a client stream that takes longer than a request may", () => {
  const limits = { requestTimeoutMs: 200 };
  /** The limit strikes up to twice as late. */
  const longMs = 1000;

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
