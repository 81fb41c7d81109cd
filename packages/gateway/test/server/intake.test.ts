/** Many clients that send as much as possible at once: all clients get their turns. */
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Intake } from "../../src/server/intake.ts";

describe("an intake", () => {
  let intake: Intake<number>;
  beforeEach(() => {
    intake = new Intake();
  });

  const nothingToDo = () => false;
  const serve = () => true;

  /** A connection that records whether it is read. Unless it serves, its requests never wait. */
  function connect(serves = nothingToDo) {
    const connection = { isRead: true };
    const _handle = {
      readStart: () => {
        connection.isRead = true;
      },
      readStop: () => {
        connection.isRead = false;
      },
    };
    const socket = { _handle } as unknown as Socket;
    const line = intake.open(socket, serves);
    const send = (requests: number) => {
      for (let n = 0; n < requests; n++) intake.take(line, n);
    };
    return Object.assign(connection, { socket, line, send });
  }

  function stopClock(): void {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
  }

  /** Enough for a turn by themselves. */
  const many = 4 + 64;

  /** Until nobody waits any more, if nothing arrives. */
  const quiet = async () => {
    for (let turn = 0; turn < 10; turn++) await nextTurn();
  };

  test("reads all connections at low load", async () => {
    const [one, two] = [connect(), connect()];
    one.send(many - 2);
    two.send(5);
    expect([one.isRead, two.isRead]).toEqual([true, true]);
    await nextTurn();
    one.send(many - 1);
    expect([one.isRead, two.isRead]).toEqual([true, true]);
  });

  test("stops reading in a turn that has reached the limit, and then reads all again", async () => {
    const [one, two] = [connect(), connect()];
    one.send(many - 1);
    expect(one.isRead).toBe(true);
    one.send(1);
    expect([one.isRead, two.isRead]).toEqual([false, false]);
    await quiet();
    expect([one.isRead, two.isRead]).toEqual([true, true]);
  });

  test("reads and starts nobody while more waits than is served in a turn", async () => {
    const [one, newcomer, crowd] = [connect(), connect(), connect(serve)];
    let starts = 0;
    crowd.send(32 + 32 + 129);
    one.send(many);
    intake.start(newcomer.socket, () => void starts++);
    await nextTurn();
    expect([one.isRead, newcomer.isRead, starts]).toEqual([false, false, 0]);
    await nextTurn();
    expect([newcomer.isRead, starts]).toEqual([true, 1]);
    await nextTurn();
    expect(one.isRead).toBe(true);
  });

  test("reads others between two turns whose starts fill them", async () => {
    const [one, ...others] = Array.from({ length: 9 }, () => connect());
    // Node reads what came with a start before it reads anyone else.
    for (const { socket, send } of others) {
      intake.start(socket, () => process.nextTick(() => send(many)));
    }
    one?.send(many);
    const read: unknown[] = [];
    for (let turn = 0; turn < 4; turn++) {
      await nextTurn();
      read.push(one?.isRead);
    }
    expect(read).toContain(true);
    await quiet();
  });

  test("does not read those whose requests wait while more do than is served in a turn", async () => {
    connect(serve).send(32 + 32 + 200);
    await nextTurn();
    const one = connect(serve);
    one.send(32);
    expect(one.isRead).toBe(true);
    one.send(1);
    expect(one.isRead).toBe(false);
    await quiet();
    expect(one.isRead).toBe(true);
  });

  test("reads others beside one that fills each of its turns, and many that send a few", async () => {
    const [first, ...others] = Array.from({ length: 41 }, () => connect(serve));
    const victim = others.pop();
    const send = (one: typeof first, count: number) => {
      if (!one?.isRead) return false;
      one.send(count);
      return true;
    };
    let reads = 0;
    for (let turn = 0; turn < 300; turn++) {
      send(first, 68);
      for (const one of others) send(one, turn === 0 ? 16 : 4);
      if (send(victim, 10)) reads++;
      await nextTurn();
    }
    expect(reads).toBeGreaterThan(10);
  });

  test("lets connections that send many take turns, in the order in which they were stopped", async () => {
    const connections = Array.from({ length: 5 }, () => connect());
    for (let round = 0; round < 3; round++) {
      const served = new Set<object>();
      for (let turn = 0; served.size < connections.length; turn++) {
        expect(turn).toBeLessThan(2 * connections.length);
        // Connections that are read send as much as possible. The last one comes first, if it can.
        for (const one of connections.toReversed()) {
          if (!one.isRead) continue;
          one.send(many);
          served.add(one);
        }
        await nextTurn();
      }
    }
  });

  test("reads one that sends few requests in each turn, among others that send many", async () => {
    const [few, ...others] = Array.from({ length: 9 }, () => connect());
    // Until its turn comes, because it is not yet known to send few.
    for (let turn = 0; turn < 9; turn++) await crowd(others);
    for (let turn = 0; turn < 50; turn++) {
      few?.send(4);
      await crowd(others);
      expect(few?.isRead).toBe(true);
    }
  });

  test.each([
    ["a new connection", []],
    ["one that has lately sent few", [5, 4]],
  ])("reads %s before others that it was stopped with", async (_what, sent) => {
    const others = Array.from({ length: 100 }, () => connect());
    // Each sends more than a few, in turns that are not full.
    for (const one of others) {
      one.send(5);
      await nextTurn();
    }
    const few = connect();
    for (const requests of sent) {
      few.send(requests);
      await nextTurn();
    }
    others[0]?.send(many);
    expect(few.isRead).toBe(false);
    await nextTurn();
    expect([few.isRead, others.every(({ isRead }) => isRead)]).toEqual([true, false]);
  });

  test("stops few connections in turns that reach the limit, and stops many less often", async () => {
    stopClock();
    const isStoppedAgain = async (connections: number) => {
      const [first, last] = Array.from({ length: connections }, () => connect());
      first?.send(many);
      await quiet();
      first?.send(1);
      await quiet();
      vi.advanceTimersByTime(1);
      first?.send(many);
      return last?.isRead === false;
    };
    expect(await isStoppedAgain(2)).toBe(true);
    intake = new Intake();
    expect(await isStoppedAgain(500)).toBe(false);
  });

  test.each([
    ["does not stop connections that have been quiet for long", 11_000, 0],
    ["stops those that have just sent something, however quiet they were", 61_000, 1],
  ])("%s", async (_what, quietMs, requests) => {
    stopClock();
    const [one, two] = [connect(), connect()];
    vi.advanceTimersByTime(quietMs);
    two.send(requests);
    await nextTurn();
    vi.advanceTimersByTime(1);
    one.send(many);
    expect(two.isRead).toBe(requests === 0);
  });

  test("does not wait for a closed connection", async () => {
    const [one, two] = [connect(), connect()];
    one.send(many);
    intake.close(two.line);
    await quiet();
    expect([one.isRead, two.isRead]).toEqual([true, false]);
  });

  /** One turn in which all connections that are read send many requests. */
  async function crowd(connections: readonly ReturnType<typeof connect>[]): Promise<void> {
    for (const one of connections) if (one.isRead) one.send(many);
    await nextTurn();
  }
});
