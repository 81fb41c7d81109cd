/** The four kinds of calls through a proxy: each way as fast as the slower side, and to its end. */
import { randomBytes } from "node:crypto";
import type { ServiceImpl } from "@connectrpc/connect";
import { createWritableIterable } from "@connectrpc/connect/protocol";
import { describe, expect, test } from "vitest";
import { FieldService } from "../../../gateway/test/gen/library/v1/fields_pb.ts";
import { createEchoService } from "../../../gateway/test/support/echo.ts";
import { grpcProtocol, openProtocols } from "../../../gateway/test/support/open-client.ts";
import { within } from "../../../gateway/test/support/within.ts";
import { openProxyOf } from "./open-proxy.ts";

type Fields = Partial<ServiceImpl<typeof FieldService>>;

const openFields = (service: Fields = createEchoService()) =>
  openProxyOf((router) => router.service(FieldService, service));

const texts = ["one", "two", "three"];

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
