import { describe, expect, test } from "vitest";
import { assertOptions, definedOnly } from "../../src/rpc/options.ts";

const kinds = {
  name: "string",
  max: "number",
  isOn: "boolean",
  told: "function",
  inner: "object",
  items: "list",
  color: ["red", "green"],
} as const;

test.each([
  {},
  { name: "a", max: 1, isOn: false, told() {}, inner: {}, items: [], color: "green" },
  { name: undefined, color: undefined },
])("%o are options", (given) => {
  expect(() => assertOptions("it", given, kinds)).not.toThrow();
});

describe("it is refused:", () => {
  test.each<[given: unknown, message: string]>([
    [undefined, "it must be an object"],
    [null, "it must be an object"],
    [{ nane: "a" }, "it.nane is no option; the options are name, max, isOn, told, inner, items,"],
    [{ toString: undefined }, "it.toString is no option"],
    [{ name: 1 }, "it.name must be a string: 1"],
    [{ max: "1" }, "it.max must be a number: 1"],
    [{ isOn: null }, "it.isOn must be a boolean: null"],
    [{ told: {} }, "it.told must be a function: [object Object]"],
    [{ inner: [] }, "it.inner must be an object: "],
    [{ items: {} }, "it.items must be a list: "],
    [{ color: "blue" }, "it.color must be one of red, green: blue"],
  ])("%o", (given, message) => {
    const refused = () => assertOptions("it", given, kinds);
    expect(refused).toThrow(TypeError);
    expect(refused).toThrow(message);
  });
});

test("members that are undefined do not take the place of others", () => {
  expect({ a: 1, b: 2, ...definedOnly({ a: undefined, b: null, c: 0 }) }).toEqual({
    a: 1,
    b: null,
    c: 0,
  });
});
