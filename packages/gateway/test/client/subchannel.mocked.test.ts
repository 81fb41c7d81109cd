/** When connections to one address are opened again. */
import { EventEmitter, once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Attempt } from "../../src/client/attempt.ts";
import { CallDeadline } from "../../src/client/call-deadline.ts";
import { backoffMs, Subchannel } from "../../src/client/subchannel.ts";
import { answerOk, type FakeServer, openFakeServer } from "./fake-server.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** A subchannel, and how often it has changed. */
function openSubchannel(origin: string) {
  const changed = new EventEmitter();
  let count = 0;
  const { hostname: address } = new URL(origin);
  const options = { origin, address, tls: () => ({}), quietMsMax: 60_000 };
  const subchannel = new Subchannel(options, () => changed.emit(`${++count}`));
  const changes = async (wanted: number) => {
    if (count < wanted) await once(changed, `${wanted}`);
  };
  return { subchannel, changes, [Symbol.dispose]: () => subchannel.destroy() };
}

const busy = { server: { settings: { maxConcurrentStreams: 1 } } };

async function end({ sessions }: FakeServer, index: number): Promise<void> {
  const session = sessions[index] ?? expect.unreachable();
  session.destroy();
  await once(session, "close");
}

test.each([
  ["at once", 1001, 0, 0],
  ["at once", 0, 1, 0],
  ["after a pause", 1000, 0, 51],
])("a lost connection is replaced %s: %i ms, %i calls", async (_, livedMs, calls, pauseMs) => {
  await using fake = await openFakeServer(answerOk);
  using opened = openSubchannel(fake.url);
  await opened.changes(1);
  if (calls > 0) {
    const connection = opened.subchannel.pick() ?? expect.unreachable();
    const { stream } = new Attempt(connection, { ":path": "/" }, new CallDeadline());
    await once(stream, "response");
  }
  vi.advanceTimersByTime(livedMs);
  await end(fake, 0);
  await opened.changes(2);
  if (pauseMs > 0) {
    vi.advanceTimersByTime(29);
    while (!opened.subchannel.isEmpty) await nextTurn();
  }
  vi.advanceTimersByTime(pauseMs);
  await opened.changes(3);
  expect(fake.sessions).toHaveLength(2);
});

test("a connection beside another is replaced when a call needs it", async () => {
  await using fake = await openFakeServer(() => {}, busy);
  using opened = openSubchannel(fake.url);
  const { subchannel } = opened;
  await opened.changes(1);
  subchannel.pick()?.reserve();
  expect(subchannel.pick()).toBeUndefined();
  await opened.changes(2);
  await end(fake, 1);
  await opened.changes(3);
  vi.advanceTimersByTime(1000);
  await opened.changes(4);
  expect(fake.sessions).toHaveLength(2);
  expect(subchannel.pick()).toBeUndefined();
  await opened.changes(5);
  expect(fake.sessions).toHaveLength(3);
});

test("a lost connection that is not reported yet is not replaced without a pause", async () => {
  await using fake = await openFakeServer(() => {});
  using opened = openSubchannel(fake.url);
  const { subchannel } = opened;
  await opened.changes(1);
  const connection = subchannel.pick() ?? expect.unreachable();
  connection.destroy();
  expect(connection.isOpen).toBe(false);
  expect(subchannel.pick()).toBeUndefined();
  await opened.changes(2);
  vi.advanceTimersByTime(29);
  while (!subchannel.isEmpty) await nextTurn();
});

test("after its end, nothing is opened", async () => {
  using opened = openSubchannel("http://127.0.0.1:1");
  await opened.changes(1);
  expect(vi.getTimerCount()).toBe(1);
  opened.subchannel.close();
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  [0, 0, 0],
  [1, 30, 50],
  [4, 240, 400],
  [100, 300, 500],
])("the pause after %d failures is from %d to %d ms", (failures, least, most) => {
  using random = vi.spyOn(Math, "random");
  random.mockReturnValueOnce(0).mockReturnValueOnce(1);
  expect(backoffMs(failures)).toBeCloseTo(least);
  random.mockReturnValue(1);
  expect(backoffMs(failures)).toBeCloseTo(most);
});
