/** Keys with escapes, which JSON.parse confuses with keys of earlier texts. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type ExactJson, JsonNumber, parseJsonText } from "../../src/codec/json-text.ts";
import { FieldViolation } from "../../src/codec/violation.ts";

const parse = (text: string) => parseJsonText(Buffer.from(text));

const rows: readonly [text: string, value: ExactJson][] = [
  ['{"id":2,"name":"x","ta\\u0067":"herb"}', { id: 2, name: "x", tag: "herb" }],
  ['{"id":2,"name":"x","ta\\\\":"herb"}', { id: 2, name: "x", "ta\\": "herb" }],
  ['{"id":2,"name":"x","ta\\u005c\\u0067":"herb"}', { id: 2, name: "x", "ta\\g": "herb" }],
  ['{"a\\u0062":{"\\u0063":[{"\\u0064":1.50}]}}', { ab: { c: [{ d: new JsonNumber("1.50") }] } }],
  ['{"\\n":1,"a":2,"\\t":{"\\n":4,"\\u0061":5}}', { "\n": 1, a: 2, "\t": { "\n": 4, a: 5 } }],
  ['{ "\\u0061" : "\\"b\\":" , "c" : "\\u0061" }', { a: '"b":', c: "a" }],
  ['{"\\ud800":1,"\\u0031":2}', { "\ud800": 1, "1": 2 }],
];

// After the first row, V8 expects another key in the place of each row's own.
test.each([...rows, ...rows])("%s is read, whatever was read before", (text, value) => {
  expect(parse(text)).toEqual(value);
});

test("a key that is __proto__ sets no prototype", () => {
  const read = parse('{"__proto\\u005f_":{"x":1},"\\n":1}') as object;
  expect(Object.entries(read)).toEqual([
    ["__proto__", { x: 1 }],
    ["\n", 1],
  ]);
  expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
});

test.each(['{"a\\x":1}', '{"a\\u00":1}', '{"\\":1}', '{"a\\n\n":1}', '{"\\n":1,}', '{"\\n":}'])(
  "%j is rejected with a message that quotes nothing else",
  (text) => {
    expect(() => parse(text)).toThrow(FieldViolation);
    expect(() => parse(text)).toThrow(/^the request is not valid JSON(: .*)?$/s);
    expect(() => parse(text)).not.toThrow(/[0-9a-f]{8}-/);
  },
);

test("any keys are read, with or without escapes", () => {
  const key = fc.string({ unit: fc.constantFrom(...'ta"\\0\n\u2028é\ud800_') });
  const object = fc.dictionary(key, fc.oneof(fc.integer(), fc.dictionary(key, fc.integer())));
  fc.assert(
    fc.property(object, (value) => {
      for (const text of [JSON.stringify(value), writeEscaped(value)]) {
        expect(entriesOf(parse(text))).toEqual(entriesOf(value));
      }
    }),
  );
});

/** The same value in JSON, with an escape for each character of a key. */
function writeEscaped(json: unknown): string {
  if (typeof json !== "object" || json === null) return JSON.stringify(json);
  const members = Object.entries(json).map(([key, value]) => {
    const units = Array.from({ length: key.length }, (_, i) => key.charCodeAt(i));
    const escapes = units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`);
    return `"${escapes.join("")}":${writeEscaped(value)}`;
  });
  return `{${members.join(",")}}`;
}

/** With keys that an object might hide. */
function entriesOf(json: unknown): unknown {
  if (typeof json !== "object" || json === null) return Object.is(json, -0) ? 0 : json;
  return Object.entries(json).map(([key, value]) => [key, entriesOf(value)]);
}
