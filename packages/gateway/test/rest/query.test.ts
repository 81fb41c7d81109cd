import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FieldViolation } from "../../src/codec/violation.ts";
import { decodeForm, parseQuery } from "../../src/rest/request/bind.ts";

/** Names and values, as those of text fields are read. */
function parsed(query: string) {
  return parseQuery(query).map(([name, raw]) => [name, decodeForm(raw)]);
}

describe("a query is parsed:", () => {
  test.each<[query: string, namesAndValues: string[]]>([
    ["", []],
    ["&&", []],
    ["&a=b&&c=d&", ["a", "b", "c", "d"]],
    // Nothing is merged or reordered.
    ["b=2&a=1&b=1", ["b", "2", "a", "1", "b", "1"]],
    // A value may be empty, and so may a name.
    ["a", ["a", ""]],
    ["=a", ["", "a"]],
    // The first `=` ends the name.
    ["a=b=c", ["a", "b=c"]],
    // `+` is a space; so is %20.
    ["a=+b+", ["a", " b "]],
    ["a=%2B", ["a", "+"]],
    ["a+b=c", ["a b", "c"]],
    // Only `&` separates.
    ["a=b;c=d", ["a", "b;c=d"]],
    ["a=b#c", ["a", "b#c"]],
    // Names are decoded, too.
    ["%61=b", ["a", "b"]],
    // Once.
    ["a=%2525", ["a", "%25"]],
    // UTF-8.
    ["%C3%A9=a", ["é", "a"]],
    ["a=é", ["a", "é"]],
    ["a=%EF%BB%BFb", ["a", "\ufeffb"]],
    ["a=%00", ["a", "\0"]],
    ["__proto__=a", ["__proto__", "a"]],
  ])("%j as %j", (query, namesAndValues) => {
    expect(parsed(query).flat()).toEqual(namesAndValues);
  });

  test("with any names and values, in the form of a browser", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 20 });
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { maxLength: 8 }), (pairs) => {
        expect(parsed(new URLSearchParams(pairs).toString())).toEqual(pairs);
      }),
    );
  });
});

describe("anything but percent-encoded UTF-8 is rejected:", () => {
  test.each(["a=%", "a=%u00e9", "a=%ff", "a=%C0%AF", "a=%ED%A0%80", "a=%C3&b=%A9", "%ff=a"])(
    "%s",
    (query) => {
      expect(() => parsed(query)).toThrow(
        new FieldViolation("", "has a query that is not percent-encoded UTF-8"),
      );
    },
  );
});

describe("the number of parameters has a limit:", () => {
  test.each([1, 999, 1000])("%i are read", (count) => {
    expect(parseQuery("a=b&".repeat(count))).toHaveLength(count);
  });

  test("empty parameters do not count", () => {
    expect(parseQuery("&".repeat(5000))).toEqual([]);
  });

  test.each([1001, 5000])("%i are rejected", (count) => {
    expect(() => parseQuery("a&".repeat(count))).toThrow(
      new FieldViolation("", "must not have more than 1000 query parameters"),
    );
  });
});
