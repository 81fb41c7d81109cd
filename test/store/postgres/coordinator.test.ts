import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { createCoordinator } from "../../../src/store/postgres/coordinator.ts";
import type { Row } from "../../../src/store/postgres/session.ts";

test("the coordinator is asked once for all that wait for the question before", async () => {
  // What the coordinator says about the plants of node 1.
  const current: Row = [true, 99, true, "1", "w1", 5432];
  let asked = 0;
  const ended: number[] = [];
  const askCoordinator = createCoordinator(async () => {
    const question = ++asked;
    // The second would end before the first.
    await delay(question === 1 ? 20 : 0);
    ended.push(question);
    return [current];
  });
  const asking = () => askCoordinator({ table: "99" } as never, "1", { name: "w1", port: 5432 });
  const ask = async () => ((await asking()) === "current" ? ended.length : 0);
  const first = [ask(), ask()];
  await delay(5);
  const second = [ask(), ask()];
  expect(await Promise.all(first)).toEqual([1, 1]);
  expect(await Promise.all(second)).toEqual([2, 2]);
});
