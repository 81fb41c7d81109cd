/** An upstream that is away, comes back, leaves or moves. */
import { once } from "node:events";
import { constants } from "node:http2";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { Code } from "@connectrpc/connect";
import { openGrpcTransport } from "connect-gateway/client";
import { describe, expect, test } from "vitest";
import { type Answer, answerOk, openFakeServer } from "../../../gateway/test/client/fake-server.ts";
import { get, send } from "../../../gateway/test/support/catalog.ts";
import { jsonOf } from "../../../gateway/test/support/gateway.ts";
import { within } from "../../../gateway/test/support/within.ts";
import { openProxy, type TestProxy } from "./open-proxy.ts";

const ask = (proxy: TestProxy) => proxy.send(get("/v1/volumes/1"));

async function untilAnswered(proxy: TestProxy): Promise<void> {
  await expect.poll(async () => (await ask(proxy)).status).toBe(200);
}

test("an upstream that is away is 503 with Retry-After at once, and is called again by itself", async () => {
  const first = await openFakeServer(answerOk);
  const port = Number(new URL(first.url).port);
  await first[Symbol.asyncDispose]();
  await using proxy = await openProxy({ url: first.url });
  for (let calls = 0; calls < 20; calls++) {
    const { status, headers, ...answer } = await ask(proxy);
    expect(status).toBe(503);
    expect(headers.get("retry-after")).toBe("1");
    // Neither the address nor the reason.
    expect(jsonOf(answer)).toEqual({
      code: Code.Unavailable,
      message: "the upstream is away",
      details: [],
    });
  }
  expect(proxy.transport.isConnected).toBe(false);
  await using _second = await openFakeServer(answerOk, { port });
  await untilAnswered(proxy);
  expect(proxy.transport.isConnected).toBe(true);
});

test.each(["http", "https"])(
  "an upstream that accepts a connection of %s and says nothing is 503 with Retry-After",
  async (scheme) => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => sockets.push(socket.resume())).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const transport = openGrpcTransport({ url, quietMsMax: 50 });
    await using proxy = await openProxy({ url, proxy: { transport } });
    // The first waits for the handshake, the others know.
    for (let calls = 0; calls < 20; calls++) {
      const { status, headers } = await within("an answer", ask(proxy));
      expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
    }
    transport.close();
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  },
);

describe("a call that may have been done is not sent again:", () => {
  test.each<[how: string, end: Answer]>([
    ["reset", (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR)],
    ["cut off", (stream) => stream.session?.destroy()],
  ])("%s", async (_how, end) => {
    let calls = 0;
    await using fake = await openFakeServer((stream, headers) => {
      calls++;
      stream.resume();
      end(stream, headers);
    });
    await using proxy = await openProxy({ url: fake.url });
    const answer = await proxy.send(send("POST", "/v1/shelves/a/volumes", {}));
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(calls).toBe(1);
  });
});
