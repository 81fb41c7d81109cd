import { expect, test } from "vitest";
import { LinkedList } from "../../src/rpc/linked-list.ts";

function listOf(...values: string[]) {
  const list = new LinkedList<string>();
  const links = Object.fromEntries(values.map((value) => [value, list.append(value)]));
  const remove = (value: string) => links[value]?.remove();
  return { list, remove };
}

test.each([
  ["nothing", [], ["a", "b", "c"]],
  ["the first", ["a"], ["b", "c"]],
  ["one between", ["b"], ["a", "c"]],
  ["the last", ["c"], ["a", "b"]],
  ["one twice", ["b", "b"], ["a", "c"]],
  ["one again when its neighbours are gone", ["b", "c", "b"], ["a"]],
  ["all", ["b", "a", "c"], []],
])("without %s, the others are in order", (_what, removed, rest) => {
  const { list, remove } = listOf("a", "b", "c");
  for (const value of removed) remove(value);
  expect([...list]).toEqual(rest);
  list.append("d");
  expect([...list]).toEqual([...rest, "d"]);
});

test("values may be removed while they are passed through", () => {
  const { list, remove } = listOf("a", "b", "c");
  const passed: string[] = [];
  for (const value of list) {
    passed.push(value);
    remove("a");
    remove("b");
  }
  expect(passed).toEqual(["a", "b", "c"]);
  expect([...list]).toEqual(["c"]);
});
