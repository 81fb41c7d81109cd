/** Requests that are answered before they are whole are left in turns. */
import { constants, type ServerHttp2Stream } from "node:http2";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { leaveRequest } from "../../src/http/stream-exchange.ts";
import { patienceMs } from "../support/within.ts";

class Answered {
  destroyed = false;
  readableEnded = false;
  readonly state = { localClose: 1 };

  close(_code: number): void {}

  destroy(): void {
    this.destroyed = true;
  }
}

function leave(streams: readonly Answered[]): void {
  for (const stream of streams) leaveRequest(stream as unknown as ServerHttp2Stream);
}

test("many are left in several turns, so that others have theirs", async () => {
  const leftIn: number[] = [];
  let turn = 0;
  const streams = Array.from({ length: 1000 }, () => new Answered());
  for (const stream of streams) {
    vi.spyOn(stream, "close").mockImplementation(() => void leftIn.push(turn));
  }
  leave(streams);
  for (; leftIn.length < streams.length; turn++) await nextTurn();
  const most = Math.max(...leftIn.map((one) => leftIn.filter((other) => other === one).length));
  expect(most).toBeLessThan(501);
});

test("one is not left before the end of its answer was sent, and holds up no other", async () => {
  const [unsent, sent, whole] = [new Answered(), new Answered(), new Answered()];
  const gone = Object.assign(new Answered(), { destroyed: true });
  unsent.state.localClose = 0;
  whole.readableEnded = true;
  const closed = vi.spyOn(sent, "close");
  const closedAgain = vi.spyOn(gone, "close");
  leave([unsent, gone, sent, whole]);
  await vi.waitUntil(() => sent.destroyed, patienceMs);
  expect([unsent.destroyed, whole.destroyed]).toEqual([false, false]);
  expect(closed).toHaveBeenCalledExactlyOnceWith(constants.NGHTTP2_NO_ERROR);
  expect(closedAgain).not.toHaveBeenCalled();
  unsent.state.localClose = 1;
  await vi.waitUntil(() => unsent.destroyed, patienceMs);
});
