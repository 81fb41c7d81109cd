/** Requests that are answered before they are whole are left in turns. */
import { constants, type ServerHttp2Stream } from "node:http2";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { leaveRequest } from "../../src/http/stream-exchange.ts";

class Answered {
  destroyed = false;
  readableEnded = false;
  readonly state = { localClose: 1 };
  code: number | undefined;

  close(code: number): void {
    this.code = code;
  }

  destroy(): void {
    this.destroyed = true;
  }
}

function leave(streams: readonly Answered[]): void {
  for (const stream of streams) leaveRequest(stream as unknown as ServerHttp2Stream);
}

test("many are left in several turns, so that others have theirs", async () => {
  const streams = Array.from({ length: 1000 }, () => new Answered());
  leave(streams);
  const countLeft = () => streams.filter(({ destroyed }) => destroyed).length;
  await vi.waitUntil(() => countLeft() > 0, { interval: 0 });
  const turns = [countLeft()];
  while (countLeft() < streams.length) {
    await nextTurn();
    turns.push(countLeft());
  }
  expect(Math.max(...turns.map((left, turn) => left - (turns[turn - 1] ?? 0)))).toBeLessThan(501);
  expect(new Set(streams.map(({ code }) => code))).toEqual(new Set([constants.NGHTTP2_NO_ERROR]));
});

test("one is not left before the end of its answer was sent, and holds up no other", async () => {
  const [unsent, sent, whole] = [new Answered(), new Answered(), new Answered()];
  unsent.state.localClose = 0;
  whole.readableEnded = true;
  leave([unsent, sent, whole]);
  await vi.waitUntil(() => sent.destroyed);
  expect([unsent.destroyed, whole.destroyed]).toEqual([false, false]);
  unsent.state.localClose = 1;
  await vi.waitUntil(() => unsent.destroyed);
});
