/** Integers are read exactly, wherever they occur. */
import { createRegistry, getExtension } from "@bufbuild/protobuf";
import { type Any, anyUnpack, Int64ValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { integerFromDecimal } from "../../src/codec/json-scalar.ts";
import { barcode, CardSchema } from "../gen/library/v1/card_pb.ts";
import { type EveryField, EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";
import { BookSchema } from "../gen/library/v1/library_pb.ts";
import { readJson as read } from "../support/json-reader.ts";
import { refusalOf } from "../support/violations.ts";

const registry = createRegistry(BookSchema, Int64ValueSchema);

interface IntegerType {
  readonly field: keyof EveryField & `${string}${"32" | "64"}`;
  readonly bits: 32 | 64;
  readonly min: bigint;
  readonly max: bigint;
}

const integerTypes: readonly IntegerType[] = [
  { field: "int32", bits: 32, min: -(2n ** 31n), max: 2n ** 31n - 1n },
  { field: "sint32", bits: 32, min: -(2n ** 31n), max: 2n ** 31n - 1n },
  { field: "sfixed32", bits: 32, min: -(2n ** 31n), max: 2n ** 31n - 1n },
  { field: "uint32", bits: 32, min: 0n, max: 2n ** 32n - 1n },
  { field: "fixed32", bits: 32, min: 0n, max: 2n ** 32n - 1n },
  { field: "int64", bits: 64, min: -(2n ** 63n), max: 2n ** 63n - 1n },
  { field: "sint64", bits: 64, min: -(2n ** 63n), max: 2n ** 63n - 1n },
  { field: "sfixed64", bits: 64, min: -(2n ** 63n), max: 2n ** 63n - 1n },
  { field: "uint64", bits: 64, min: 0n, max: 2n ** 64n - 1n },
  { field: "fixed64", bits: 64, min: 0n, max: 2n ** 64n - 1n },
];

describe("JSON is read as", () => {
  test.each(integerTypes)("$field from $min to $max", ({ field, bits, min, max }) => {
    for (const value of [min, max]) {
      const long = bits === 32 ? [`"${`${value}.`.padEnd(40, "0")}"`] : [];
      for (const json of [`${value}`, `${value}.0`, `${value * 10n}e-1`, `"${value}"`, ...long]) {
        const message = read(EveryFieldSchema, `{"${field}":${json}}`);
        expect(message[field], json).toBe(bits === 32 ? Number(value) : value);
      }
    }
  });

  test.each(integerTypes)("$field, and reports its range for anything beyond", (type) => {
    const description = `${kindOf(type)}, from ${type.min} to ${type.max}`;
    for (const value of [type.min - 1n, type.max + 1n]) {
      for (const json of [`${value}`, `${value}.0`, `${value * 10n}e-1`, `"${value}"`]) {
        const text = `{"${type.field}":${json}}`;
        const refusal = refusalOf(() => read(EveryFieldSchema, text));
        const message = `${type.field} ${description}`;
        expect(refusal, json).toEqual({ message, violations: [[type.field, description]] });
      }
    }
  });

  test.each<[json: string, value: number]>([
    ["-0", 0],
    ['"-0"', 0],
    ["0e-999999999", 0],
    ["12.000000000000000000000000000000", 12],
    ["1.2e1", 12],
    ['"12"', 12],
    ["null", 0],
  ])("every integer type from %s", (json, value) => {
    for (const { field, bits } of integerTypes) {
      const message = read(EveryFieldSchema, `{"${field}":${json}}`);
      expect(message[field], field).toBe(bits === 32 ? value : BigInt(value));
    }
  });

  const noIntegers: readonly string[] = [
    ...['""', '" "', '" 1"', '"1 "', '"\\t1"', '"1\\n"', '"\\u00a01"'],
    ...['"0x10"', '"0b1"', '"0o7"', '"01"', '"00"', '"-01"', '"+1"', '"--1"', '"-"', '"1-"'],
    ...['"1."', '"1e-1"', '"1,000"', '"1_000"', '"1n"', '"abc"', '"null"', '"true"'],
    ...['"NaN"', '"Infinity"', '"١"', '"１"', '"12\\u0000"'],
    ...["true", "false", "[]", "[1]", "{}", '{"value":1}'],
    ...["1.5", "-0.5", "1e-1", "12.000000000000000000001", "1e-400"],
    ...["1e20", "1e21", "1e+21", "1.5e+300", "-1e+21", "1e400", "-1e400"],
    ...["1e999999999", `1${"0".repeat(100)}`, `"1${"0".repeat(100)}"`],
  ];

  // ProtoJSON accepts these for 32 bits. With 64 bits, an id in a string has only one form.
  test.each(['"1e2"', '"100.0"', '"1.00E+2"'])("only a 32-bit integer from %s", (json) => {
    for (const type of integerTypes) {
      const text = `{"${type.field}":${json}}`;
      if (type.bits === 32) expect(read(EveryFieldSchema, text)[type.field]).toBe(100);
      else expect(refusalOf(() => read(EveryFieldSchema, text))).not.toBe("accepted");
    }
  });

  test.each(noIntegers)("no integer type from %s", (json) => {
    for (const type of integerTypes) {
      const text = `{"${type.field}":${json}}`;
      const range = /^"?-?\d{20,}"?$/.test(json) ? ", from -?\\d+ to \\d+" : "";
      const described = expect.stringMatching(new RegExp(`${kindOf(type)}${range}$`));
      const refusal = refusalOf(() => read(EveryFieldSchema, text));
      const violations = [[type.field, described]];
      expect(refusal, type.field).toEqual({ message: described, violations });
    }
  });

  describe("a map's integer keys", () => {
    const accepted: readonly [field: keyof EveryField, key: string][] = [
      ["int64ByInt64", "9223372036854775807"],
      ["doubleByInt32", "-2147483648"],
      ["bytesByUint32", "4294967295"],
    ];

    test.each(accepted)("%s: %s", (field, key) => {
      const value = field === "bytesByUint32" ? '""' : "1";
      const message = read(EveryFieldSchema, `{"${field}":{"${key}":${value}}}`);
      expect(Object.keys(message[field] as object)).toEqual([key]);
    });

    const int64 = "must be a 64-bit integer";
    const uint64 = "must be a 64-bit unsigned integer";
    const uint32 = "must be a 32-bit unsigned integer";
    test.each<[field: string, key: string, description: string]>([
      ["int64ByInt64", "", int64],
      ["int64ByInt64", `${2n ** 63n}`, `${int64}, from ${-(2n ** 63n)} to ${2n ** 63n - 1n}`],
      ["uint64ByUint64", "-1", `${uint64}, from 0 to ${2n ** 64n - 1n}`],
      ["doubleByInt32", "1e2", "must be a 32-bit integer"],
      ["bytesByUint32", "4294967296", `${uint32}, from 0 to 4294967295`],
    ])("%s: not %j", (field, key, description) => {
      const refusal = refusalOf(() => read(EveryFieldSchema, `{"${field}":{"${key}":1}}`));
      expect(refusal).toMatchObject({ violations: [[`${field}["${key}"]`, description]] });
    });

    test("0 and -0 are the same key", () => {
      expect(refusalOf(() => read(EveryFieldSchema, '{"int64ByInt64":{"0":1,"-0":2}}'))).not.toBe(
        "accepted",
      );
    });
  });

  describe("9007199254740993 exactly", () => {
    const n = "9007199254740993";
    const exact = 9007199254740993n;
    test("in an Any, also with a wrapper", () => {
      const inAny = (json: object) =>
        read(EveryFieldSchema, `{"any":${JSON.stringify(json).replace(`"${n}"`, n)}}`, { registry })
          .any as Any;
      expect(anyUnpack(inAny({ "@type": "a/library.v1.Book", id: n }), BookSchema)?.id).toBe(exact);
      const wrapper = inAny({ "@type": "a/google.protobuf.Int64Value", value: n });
      expect(anyUnpack(wrapper, Int64ValueSchema)?.value).toBe(exact);
    });

    test("if the generated type is a string", () => {
      expect(read(EveryFieldSchema, `{"asString":${n}}`).asString).toBe(n);
    });

    test.each([n, `"${n}"`, `${n}.0`])("in an extension: %s", (json) => {
      const options = { registry: createRegistry(barcode) };
      const card = read(CardSchema, `{"[library.v1.barcode]":${json}}`, options);
      expect(getExtension(card, barcode)).toBe(exact);
    });

    test("in a group", () => {
      expect(read(CardSchema, `{"back":{"number":${n}}}`).back?.number).toBe(exact);
    });
  });
});

const huge = "9".repeat(300_000);
test.each<[what: string, source: string, integer: string | undefined]>([
  ["1e1000000000", "1e1000000000", undefined],
  ["an exponent of 300,000 digits", `1e${huge}`, undefined],
  ["a negative one", `1e-${huge}`, undefined],
  ["300,000 digits, nearly all behind the point", `${huge}e-299980`, undefined],
  ["300,000 zeros behind the point", `7.${"0".repeat(300_000)}`, "7"],
  ["300,000 zeros before the digit", `0.${"0".repeat(299_999)}7e300000`, "7"],
  ["300,000 zeros behind the digit", `7${"0".repeat(300_000)}e-300000`, "7"],
])("an exponent costs nothing, however large: %s", (_what, source, integer) => {
  expect(integerFromDecimal(source)).toBe(integer);
});

test("for any number, the result is that of exact arithmetic", () => {
  const digits = fc.stringMatching(/^(0|[1-9][0-9]{0,24})$/);
  const fraction = fc.stringMatching(/^[0-9]{0,24}$/);
  const exponent = fc.option(fc.integer({ min: -50, max: 50 }), { nil: undefined });

  fc.assert(
    fc.property(fc.boolean(), digits, fraction, exponent, (isNegative, whole, behind, shift) => {
      const sign = isNegative ? "-" : "";
      const point = behind === "" ? "" : `.${behind}`;
      const source = `${sign}${whole}${point}${shift === undefined ? "" : `e${shift}`}`;
      const unsigned = exactInteger(whole, behind, shift ?? 0);
      const isShort = unsigned !== undefined && unsigned < 10n ** 20n;
      const expected = isShort ? String(isNegative ? -unsigned : unsigned) : undefined;
      expect(integerFromDecimal(source)).toBe(expected);
    }),
    { numRuns: 1000 },
  );
});

/** whole.behind * 10^exponent, if it is an integer. */
function exactInteger(whole: string, behind: string, exponent: number): bigint | undefined {
  const digits = BigInt(`${whole}${behind}`);
  const shift = exponent - behind.length;
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return digits % divisor === 0n ? digits / divisor : undefined;
}

function kindOf({ bits, min }: IntegerType): string {
  return `must be a ${bits}-bit ${min < 0n ? "" : "unsigned "}integer`;
}
