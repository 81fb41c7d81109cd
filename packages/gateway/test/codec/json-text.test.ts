import { getHeapStatistics } from "node:v8";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ExactJson, JsonNumber, parseJsonText } from "../../src/codec/json-text.ts";
import { FieldViolation } from "../../src/codec/violation.ts";
import { anyCharacter } from "../support/any-character.ts";
import { openCollector } from "../support/collect-garbage.ts";

const encoder = new TextEncoder();

function parse(text: string): ExactJson {
  return parseJsonText(encoder.encode(text));
}

function reasonFor(bytes: Uint8Array): string {
  try {
    return `read: ${JSON.stringify(parseJsonText(bytes))}`;
  } catch (error) {
    if (error instanceof FieldViolation) return error.description;
    throw error;
  }
}

test.each<[text: string, value: ExactJson]>([
  ["-1", -1],
  [" \t\r\n[ 1 , 2 ] \t\r\n", [1, 2]],
  ['"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\/\b\f\n\r\t'],
  ['"\\u00e9\\uD83C\\uDF31"', "é🌱"],
  ['"\\u0000"', "\0"],
  ['"\\ud800"', "\ud800"], // a lone surrogate: the reader of the field rejects it
  // JSON.parse creates such objects; a literal would set the prototype.
  ['{"__proto__":{"a":1}}', JSON.parse('{"__proto__":{"a":1}}')],
])("reads %s", (text, value) => {
  expect(parse(text)).toStrictEqual(value);
});

describe("keeps the digits of", () => {
  test.each<[source: string, value: number | JsonNumber]>([
    // What a double holds, written as JavaScript writes it, needs no digits.
    ["1", 1],
    ["-1", -1],
    ["9007199254740992", 9007199254740992],
    // Anything else does.
    ["9007199254740993", new JsonNumber("9007199254740993")],
    ["1.0", new JsonNumber("1.0")],
    ["-0", new JsonNumber("-0")],
    ["0.10000000000000000000000000001", new JsonNumber("0.10000000000000000000000000001")],
    ["1e400", new JsonNumber("1e400")],
  ])("%s", (source, value) => {
    expect(parse(source)).toStrictEqual(value);
    expect(parse(`[${source}]`)).toStrictEqual([value]);
    expect(parse(`{"a":[0,{"b":${source}}],"c":${source} }`)).toStrictEqual({
      a: [0, { b: value }],
      c: value,
    });
  });

  test("no string that looks like a number", () => {
    expect(parse('["9007199254740993", "1.0", 1.0]')).toStrictEqual([
      "9007199254740993",
      "1.0",
      new JsonNumber("1.0"),
    ]);
  });
});

test.each<[what: string, bytes: readonly number[]]>([
  ["a lead byte of four, two missing", [0xf0, 0x9f]],
  ["the first surrogate, U+D800", [0xed, 0xa0, 0x80]],
  ["Latin-1", [0xe9]],
])("rejects bytes that are not UTF-8: %s", (_what, bytes) => {
  const quote = 0x22;
  const invalid = "is not valid UTF-8";
  expect(reasonFor(Uint8Array.from([quote, ...bytes, quote]))).toBe(invalid);
  expect(reasonFor(Uint8Array.from([...bytes]))).toBe(invalid);
  expect(reasonFor(Uint8Array.from([0x7b, quote, ...bytes, quote, 0x3a, 0x31, 0x7d]))).toBe(
    invalid,
  );
});

test.each([
  ...["", " ", "\ufeff{}", "1 2", "{} {}", "1,", "null\0", "NaN", "-Infinity", "+1", "-", "01"],
  ...["1.", ".1", "1e", "1e+", "0x10", "1_000", "1n", "True", "{", "[", '"', "}", "[1,]"],
  ...["[,1]", "[1 2]", '{"a":1,}', '{"a"}', '{"a"::1}', '{"a";1}', "{a:1}", "{'a':1}", "'a'"],
  ...['"\t"', '"\0"', '"\\x41"', '"\\u12"'],
  ...['"\\"', "// a comment\n1", "1 /* a comment */", "\u00a01", "\v1", "[1}", '{"a":1]'],
])("rejects text that is not JSON: %j", (text) => {
  expect(reasonFor(encoder.encode(text))).toMatch(/^is not valid JSON: ./s);
});

test.each<[text: string, token: string]>([
  ['{"a":1,"a":1}', '"a"'],
  ['{"a":1,"\\u0061":2}', '"\\u0061"'],
  ['{"\\u0061":1,"a":2}', '"a"'],
  ['{"🌱":1,"\\ud83c\\udf31":2}', '"\\ud83c\\udf31"'],
  ['{"\\\\":1,"\\\\":2}', '"\\\\"'],
  ['{"__proto__":1,"__proto__":2}', '"__proto__"'],
  ['{"a":{"b":1},"b":[],"a":2}', '"a"'], // after a nested object and a list
  ['{"a":["}",{"a":"{"}],"a":2}', '"a"'], // brackets in strings do not count
  ['{"a":9007199254740993,"a":1}', '"a"'],
  ['{"a":"\\\\","a":2}', '"a"'], // an escaped backslash does not escape the quote
])("rejects a duplicate member: %s", (text, token) => {
  expect(reasonFor(encoder.encode(text))).toBe(`has ${token} twice in one JSON object`);
});

const short: [what: string, text: (n: number) => string][] = [
  ["a string of 12 characters", (n) => `["${`name ${n}`.padEnd(12)}"]`],
  ["a string of 13 characters", (n) => `["${`name ${n}`.padEnd(13)}"]`],
  ["a key", (n) => `{"${`a name ${n}`.padEnd(20)}":0}`],
  ["a double", (n) => `[0.1234567890123${n + 10}]`],
];

test.each(short)("%s does not keep the text that it was in", (_what, text) => {
  const collect = openCollector();
  collect();
  const before = getHeapStatistics().used_heap_size;
  const names = Array.from({ length: 40 }, (_, n) =>
    parseJsonText(encoder.encode(text(n) + " ".repeat(500_000))),
  );
  collect();
  expect(getHeapStatistics().used_heap_size - before).toBeLessThan(10_000_000); // of 20 MB
  expect(names).toHaveLength(40);
});

describe("depth", () => {
  const tooDeep = "nests deeper than 200 levels";
  test.each<[what: string, open: string, close: string]>([
    ["lists", "[", "]"],
    ["objects", '{"a":', "}"],
  ])("of %s: 200 levels are read, more are not", (_what, open, close) => {
    const nest = (depth: number) => `${open.repeat(depth)}1.0${close.repeat(depth)}`;
    expect(reasonFor(encoder.encode(nest(200)))).toMatch(/^read: /);
    expect(reasonFor(encoder.encode(nest(201)))).toBe(tooDeep);
    // Open brackets count, not all brackets.
    expect(reasonFor(encoder.encode(`[${`${nest(100)},`.repeat(3)}1]`))).toMatch(/^read: /);
  });

  test("of a million levels is also rejected", () => {
    const nested = `${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}`;
    expect(reasonFor(encoder.encode(nested))).toBe(tooDeep);
    expect(reasonFor(encoder.encode("[".repeat(1_000_000)))).toBe(tooDeep);
  });
});

describe("for any JSON value", () => {
  /** What JSON.parse would have read. */
  function rounded(json: ExactJson): unknown {
    if (json instanceof JsonNumber) return Number(json.source);
    if (Object.is(json, -0)) return 0;
    if (Array.isArray(json)) return json.map(rounded);
    if (typeof json !== "object" || json === null) return json;
    return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, rounded(value)]));
  }

  const anyJson = fc.jsonValue({ maxDepth: 5, stringUnit: anyCharacter });

  test("the text of JSON.stringify is read as the original value", () => {
    fc.assert(
      fc.property(anyJson, fc.constantFrom(undefined, 0, 2, "\t"), (value, space) => {
        const text = JSON.stringify(value, undefined, space);
        expect(rounded(parse(text))).toEqual(rounded(value as ExactJson));
      }),
    );
  });

  test("a digit added to a number is kept", () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.constantFrom("", ".0", ".10", "e0", "E+1"), (n, suffix) => {
        const source = `${n}${suffix}`;
        const number = (parse(`{"a":[${source}]}`) as { a: (number | JsonNumber)[] }).a[0];
        expect(number instanceof JsonNumber ? number.source : String(number)).toBe(source);
      }),
    );
  });

  test("any bytes are read, or rejected with a FieldViolation", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        expect(reasonFor(bytes)).toBeTypeOf("string");
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\ue0139.-+ n') }), (text) => {
        const reason = reasonFor(encoder.encode(text));
        const isJson = reason.startsWith("read: ") || reason.endsWith("twice in one JSON object");
        expect(isJson).toBe(canParse(text));
      }),
      { numRuns: 1000 },
    );
  });
});

function canParse(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
