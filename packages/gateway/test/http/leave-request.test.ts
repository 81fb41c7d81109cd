/** Requests that are answered before they are whole are left in turns. */
import http2, { constants, type ServerHttp2Stream } from "node:http2";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { leaveRequest } from "../../src/http/stream-exchange.ts";
import { isUnread } from "../../src/http/windows.ts";
import { listen } from "../support/free-port.ts";
import { patienceMs } from "../support/within.ts";

test("many are left in several turns, so that others have theirs", async () => {
  const leftIn: number[] = [];
  let turn = 0;
  const answered = { state: { localClose: 1 }, close: () => leftIn.push(turn), destroy() {} };
  for (let i = 0; i < 1000; i++) leaveRequest({ ...answered } as unknown as ServerHttp2Stream);
  for (; leftIn.length < 1000; turn++) await nextTurn();
  const most = Math.max(...leftIn.map((one) => leftIn.filter((other) => other === one).length));
  expect(most).toBeLessThan(501);
});

test("one is not left before the end of its answer was sent, and holds up no other", async () => {
  const open = (localClose: number, given = {}) => {
    const stream = { ...given, state: { localClose }, close: vi.fn(), destroy: vi.fn() };
    leaveRequest(stream as unknown as ServerHttp2Stream);
    return stream;
  };
  const [unsent, gone] = [open(0), open(1, { destroyed: true })];
  const [sent, whole] = [open(1), open(1, { readableEnded: true })];
  await vi.waitUntil(() => sent.destroy.mock.calls.length > 0, patienceMs);
  expect(sent.close.mock.calls).toEqual([[constants.NGHTTP2_NO_ERROR]]);
  for (const spy of [unsent.destroy, whole.destroy, gone.close]) expect(spy).not.toHaveBeenCalled();
  unsent.state.localClose = 1;
  await vi.waitUntil(() => unsent.destroy.mock.calls.length > 0, patienceMs);
});

// A stream that is kept counts among those of its connection, which in the end has room for no more.
test("one that is whole when its answer is sent, but not read, is left", async () => {
  const { promise, resolve } = Promise.withResolvers<ServerHttp2Stream>();
  await using listener = await listen(http2.createServer().on("stream", resolve));
  const session = http2.connect(listener.url);
  session.request({ ":method": "POST" }).resume().end("unread");
  const stream = await promise;
  stream.read(0); // or Node would discard it
  await vi.waitUntil(() => isUnread(stream), patienceMs);
  stream.respond();
  stream.end();
  leaveRequest(stream);
  await vi.waitUntil(() => stream.destroyed, patienceMs);
  session.destroy();
});
