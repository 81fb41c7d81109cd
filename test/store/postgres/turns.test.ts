import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { Turns } from "../../../src/store/postgres/turns.ts";

test("as many as there are go at a time, in order of arrival", async () => {
  const turns = new Turns(2);
  const taken: number[] = [];
  for (const one of [1, 2, 3, 4]) void turns.take().then(() => taken.push(one));
  await nextTurn();
  expect(taken).toEqual([1, 2]);
  turns.giveBack();
  await nextTurn();
  expect(taken).toEqual([1, 2, 3]);
  for (let i = 0; i < 3; i++) turns.giveBack();
  await nextTurn();
  expect(taken).toEqual([1, 2, 3, 4]);
  // Two are free again.
  for (const one of [5, 6, 7]) void turns.take().then(() => taken.push(one));
  await nextTurn();
  expect(taken).toEqual([1, 2, 3, 4, 5, 6]);
});
