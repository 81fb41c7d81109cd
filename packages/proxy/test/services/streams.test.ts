/** The four kinds of calls through a proxy: each way as fast as the slower side, and to its end. */
import { randomBytes } from "node:crypto";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { createWritableIterable } from "@connectrpc/connect/protocol";
import { describe, expect, test } from "vitest";
import { answerOk, openFakeServer } from "../../../gateway/test/client/fake-server.ts";
import { CatalogService } from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import { FieldService } from "../../../gateway/test/gen/library/v1/fields_pb.ts";
import { createEchoService } from "../../../gateway/test/support/echo.ts";
import { grpcProtocol, openProtocols } from "../../../gateway/test/support/open-client.ts";
import { within } from "../../../gateway/test/support/within.ts";
import { openProxy, openProxyOf } from "./open-proxy.ts";

type Fields = Partial<ServiceImpl<typeof FieldService>>;

const openFields = (service: Fields = createEchoService()) =>
  openProxyOf((router) => router.service(FieldService, service));

const texts = ["one", "two", "three"];

async function* messages() {
  for (const string of texts) yield { string };
}

async function textsOf(answers: AsyncIterable<{ string: string }>): Promise<string[]> {
  const taken: string[] = [];
  for await (const { string } of answers) taken.push(string);
  return taken;
}

describe.each(openProtocols)("over $name,", ({ version, open }) => {
  test("streams of each kind come whole", async () => {
    await using proxy = await openFields();
    using caller = open(FieldService, proxy.origin(version));
    const { client } = caller;
    expect(await client.collect(messages())).toMatchObject({ string: "three" });
    expect(await textsOf(client.repeat({ string: "one" }))).toEqual(["one", "one"]);
    if (version === "2") expect(await textsOf(client.exchange(messages()))).toEqual(texts);
  });

  test("headers and trailers of a stream are passed on", async () => {
    await using proxy = await openFields({
      async *repeat(message, { responseHeader, responseTrailer }) {
        responseHeader.set("x-region", "eu");
        yield message;
        responseTrailer.set("x-cost", "3");
      },
    });
    using caller = open(FieldService, proxy.origin(version));
    let region: string | null = null;
    let cost: string | null = null;
    const answers = caller.client.repeat(
      { string: "a" },
      {
        onHeader: (header) => {
          region = header.get("x-region");
        },
        onTrailer: (trailer) => {
          cost = trailer.get("x-cost");
        },
      },
    );
    expect(await textsOf(answers)).toEqual(["a"]);
    expect({ region, cost }).toEqual({ region: "eu", cost: "3" });
  });

  test("an error behind messages comes behind them", async () => {
    await using proxy = await openFields({
      async *repeat(message) {
        yield message;
        throw new ConnectError("so far", Code.Aborted);
      },
    });
    using caller = open(FieldService, proxy.origin(version));
    const answers = caller.client.repeat({ string: "a" })[Symbol.asyncIterator]();
    expect(await answers.next()).toMatchObject({ value: { string: "a" } });
    await expect(answers.next()).rejects.toMatchObject({
      code: Code.Aborted,
      rawMessage: "so far",
    });
  });

  test("a caller that leaves ends the upstream's call", async () => {
    const ended = Promise.withResolvers<unknown>();
    await using proxy = await openFields({
      async *repeat(message, { signal }) {
        signal.addEventListener("abort", () => ended.resolve(signal.reason));
        yield message;
        await new Promise(() => {});
      },
    });
    using caller = open(FieldService, proxy.origin(version));
    const leaving = new AbortController();
    const { signal } = leaving;
    const answers = caller.client.repeat({ string: "a" }, { signal })[Symbol.asyncIterator]();
    await answers.next();
    leaving.abort();
    expect(await within("the end", ended.promise)).toMatchObject({ code: Code.Canceled });
  });
});

describe.each(openProtocols)("streamIdleTimeoutMs over $name", ({ version, open }) => {
  test("ends a quiet stream with a status, and the upstream's call", async () => {
    const ended = Promise.withResolvers<void>();
    await using proxy = await openProxyOf(
      (router) =>
        router.service(FieldService, {
          async *repeat(message, { signal }) {
            signal.addEventListener("abort", () => ended.resolve());
            yield message;
            await new Promise(() => {});
          },
        }),
      { streamIdleTimeoutMs: 1000 },
    );
    using caller = open(FieldService, proxy.origin(version));
    const answers = caller.client.repeat({ string: "a" })[Symbol.asyncIterator]();
    expect(await answers.next()).toMatchObject({ value: { string: "a" } });
    await expect(within("the end", answers.next())).rejects.toMatchObject({
      code: Code.DeadlineExceeded,
      rawMessage: "no message for 1000 ms",
    });
    await within("the end of the upstream's call", ended.promise);
  });
});

test("in a stream each way, each answer may wait for the one before", async () => {
  await using proxy = await openFields();
  using caller = grpcProtocol.open(FieldService, proxy.origin("2"));
  const asking = createWritableIterable<{ string: string }>();
  const answers = caller.client.exchange(asking)[Symbol.asyncIterator]();
  for (const string of texts) {
    void asking.write({ string });
    expect(await within("an answer", answers.next())).toMatchObject({ value: { string } });
  }
  asking.close();
  expect(await answers.next()).toMatchObject({ done: true });
});

/** Of a message that is large beside what a stream may send unread, compressed as well. */
const large = randomBytes(48 * 1024).toString("base64");

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
});

test("an upstream that takes nothing has its caller wait, and its connection serves others", async () => {
  await using fake = await openFakeServer((stream, headers) => {
    const isImport = headers[":path"]?.endsWith("ImportVolumes");
    if (!isImport) answerOk(stream, headers);
  });
  await using proxy = await openProxy({ url: fake.url });
  using caller = grpcProtocol.open(CatalogService, proxy.origin("2"));
  let taken = 0;
  async function* endless() {
    for (; taken < 10_000; taken++) yield { parent: large };
  }
  const leaving = new AbortController();
  const importing = caller.client.importVolumes(endless(), { signal: leaving.signal });
  for (let calls = 0; calls < 100; calls++) await caller.client.getVolume({});
  expect(taken).toBeGreaterThan(0);
  expect(taken).toBeLessThan(150);
  leaving.abort();
  await expect(importing).rejects.toMatchObject({ code: Code.Canceled });
});
