import { describe, expect, test } from "vitest";
import { createNameMatcher } from "../../src/rest/request/bind.ts";

describe("a pattern matches", () => {
  test.each<[pattern: string, names: readonly string[], others: readonly string[]]>([
    ["fbclid", ["fbclid"], ["", "fbclid2", "xfbclid", "FBCLID"]],
    ["utm_*", ["utm_", "utm_source", "utm_*"], ["utm", "xutm_a", "Utm_a"]],
    ["*_id", ["_id", "a_id", "_id_id"], ["a_idx", "id"]],
    ["a*b*c", ["abc", "a1b2c", "abbcc", "ac b c"], ["ac", "acb", "ab", "xabc"]],
    ["a**b", ["ab", "axb"], ["a", "b"]],
    ["*", ["", "anything", "a.b[c]"], []],
    ["[a]+", ["[a]+"], ["a", "aa"]],
    ["a?", ["a?"], ["ab", "a"]],
  ])("%s", (pattern, names, others) => {
    const matches = createNameMatcher(["nothing-else", pattern]);
    expect(names.filter((name) => !matches(name))).toEqual([]);
    expect(others.filter(matches)).toEqual([]);
  });

  test("nothing, if there is none", () => {
    expect(createNameMatcher([])("")).toBe(false);
  });
});

test("a long name costs no more than its length", () => {
  const matches = createNameMatcher([`${"a*".repeat(50)}b`]);
  expect(matches("a".repeat(1_000_000))).toBe(false);
});
