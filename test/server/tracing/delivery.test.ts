/** A batch is tried until it is there, refused, or out of time; and given up at once on demand. */
import { expect, test } from "vitest";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { type Attempt, Delivery } from "../../../src/server/tracing/delivery.ts";

const minuteMs = 60_000;
const delivered: Attempt = { kind: "delivered" };

function failed(afterMs?: number): Attempt {
  return { kind: "failed", error: new Error("no room"), afterMs };
}

/** Sends by these attempts, one after the other. */
function play(...attempts: readonly Attempt[]) {
  let sent = 0;
  const send = () => Promise.resolve(attempts[sent++] ?? Promise.reject(new Error("too many")));
  return { send, sent: () => sent };
}

test.each<[string, Attempt[], string | undefined]>([
  ["arrives at once", [delivered], undefined],
  ["arrives when it is tried again", [failed(0), failed(0), delivered], undefined],
  [
    "is not tried again once refused",
    [failed(0), { kind: "refused", error: new Error("no room") }],
    "no room",
  ],
])("a batch %s", async (_, attempts, error) => {
  const { send, sent } = play(...attempts);
  const ended = await within("the end", new Delivery(send, minuteMs).ended);
  expect(ended?.message).toBe(error);
  expect(sent()).toBe(attempts.length);
});

test("a connection that fails is tried again", async () => {
  let sent = 0;
  async function send(): Promise<Attempt> {
    if (sent++ === 0) throw new Error("ECONNREFUSED");
    return delivered;
  }
  expect(await within("the end", new Delivery(send, minuteMs).ended)).toBeUndefined();
  expect(sent).toBe(2);
});

test("who waits to try again tries at once when hurried, and not again", async () => {
  const { send, sent } = play(failed(minuteMs), failed(0), delivered);
  const delivery = new Delivery(send, minuteMs);
  delivery.hurry();
  expect((await within("the end", delivery.ended))?.message).toBe("no room");
  expect(sent()).toBe(2);
});

test.each([
  ["cut off", minuteMs, (delivery: Delivery) => delivery.cutOff()],
  ["out of time", 1, () => {}],
])("what hangs ends when it is %s", async (_, timeoutMs, act) => {
  let sent = 0;
  const hang = (signal: AbortSignal) => {
    sent++;
    return new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  };
  const delivery = new Delivery(hang, timeoutMs);
  act(delivery);
  expect(await within("the end", delivery.ended)).toBeInstanceOf(Error);
  expect(sent).toBe(1);
});
