/** How one attempt of a call ends, where a server would have to be very quick or very odd to show it. */
import { constants } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test, vi } from "vitest";
import { Attempt, callUnary, sendAll } from "../../src/client/attempt.ts";
import { CallDeadline } from "../../src/client/call-deadline.ts";
import { Channel } from "../../src/client/channel.ts";
import { keepMessages } from "../../src/client/messages.ts";
import { openCollector } from "../support/collect-garbage.ts";
import { patienceMs, within } from "../support/within.ts";
import { type Answer, openFakeServer } from "./fake-server.ts";

/** An attempt at a server that answers so. */
async function openAttempt(answer: Answer, deadline = new CallDeadline()) {
  const fake = await openFakeServer(answer);
  const channel = new Channel({ origin: fake.url, tls: () => ({}), quietMsMax: 5000 });
  const connection = await channel.acquire(new CallDeadline());
  const attempt = new Attempt(connection, { ":method": "POST", ":path": "/" }, deadline);
  return {
    ...{ attempt, connection },
    async [Symbol.asyncDispose]() {
      channel.close();
      await fake[Symbol.asyncDispose]();
    },
  };
}

test.each([
  ["has passed", 0.5, Code.DeadlineExceeded],
  ["is far", 10_000, Code.Canceled],
  ["is none", undefined, Code.Canceled],
])("a server that resets a call whose deadline %s", async (_what, timeoutMs, code) => {
  const reset: Answer = (stream) => stream.close(constants.NGHTTP2_CANCEL);
  const deadline = new CallDeadline(timeoutMs, undefined);
  deadline.release(); // its timer has not come yet
  await using opened = await openAttempt(reset, deadline);
  const answer = callUnary(opened.attempt, Buffer.alloc(5), 1000, undefined);
  await expect(within("its end", answer)).rejects.toMatchObject({ code });
});

test.each([
  ["headers", 1, true],
  ["data", 0, false],
])("a call whose %s Node could not send: frame type %i, undone: %s", async (_, type, isUndone) => {
  await using opened = await openAttempt(() => {});
  const { stream } = opened.attempt;
  stream.emit("frameError", type, 0, stream.id);
  expect(opened.attempt.isUndone).toBe(isUndone);
});

test("a call that Node refuses to send gives its place back", async () => {
  const deadline = new CallDeadline();
  await using opened = await openAttempt(() => {}, deadline);
  const { connection } = opened;
  connection.reserve();
  expect(() => new Attempt(connection, { "not a name": "1" }, deadline)).toThrow();
  expect(connection.streams).toBe(1);
});

test("a cancelled call ends with its first reason, and frees its place", async () => {
  await using opened = await openAttempt(() => {});
  const { attempt, connection } = opened;
  const answer = callUnary(attempt, Buffer.alloc(5), 1000, undefined);
  const first = new ConnectError("first", Code.DeadlineExceeded);
  attempt.cancel(first);
  attempt.cancel(new ConnectError("second", Code.Canceled));
  await expect(answer).rejects.toBe(first);
  expect(connection.streams).toBe(0);
});

async function* endless() {
  for (;;) yield Buffer.alloc(64 * 1024);
}

test("messages that the server does not take are given up with their call", async () => {
  await using opened = await openAttempt((stream) => stream.pause());
  const { attempt } = opened;
  const messages = keepMessages(endless(), (body) => body, false, undefined);
  const done = sendAll(attempt, messages);
  await vi.waitUntil(() => attempt.stream.writableNeedDrain, patienceMs);
  attempt.cancel(new ConnectError("over", Code.Canceled));
  await within("the end", done);
});

test("messages that were sent are not kept", async () => {
  const messages = keepMessages(endless(), (body) => body, false, undefined);
  const sent: WeakRef<object>[] = [];
  for (let i = 0; i < 8; i++) sent.push(new WeakRef(await messages.take(i)));
  await new Promise(setImmediate);
  openCollector()();
  expect(sent.filter((one) => one.deref() !== undefined).length).toBeLessThan(3);
});
