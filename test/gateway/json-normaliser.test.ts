import { createRegistry, getExtension } from "@bufbuild/protobuf";
import { type Any, anyUnpack, Int64ValueSchema, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { barcode, CardSchema } from "./gen/library/v1/card_pb.ts";
import { type EveryField, EveryFieldSchema, Genre } from "./gen/library/v1/fields_pb.ts";
import { type Book, BookSchema } from "./gen/library/v1/library_pb.ts";
import { jsonReaders } from "./support/json-reader.ts";
import { refusalOf } from "./support/violations.ts";

const two53 = 2n ** 53n;
const registry = createRegistry(BookSchema, Int64ValueSchema, TimestampSchema);

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

describe.each(jsonReaders)("%s reads", (_name, read) => {
  test.each(integerTypes)("$field from $min to $max", ({ field, bits, min, max }) => {
    for (const value of [min, max]) {
      for (const json of [`${value}`, `${value}.0`, `${value * 10n}e-1`, `"${value}"`]) {
        const message = read(EveryFieldSchema, `{"${field}":${json}}`);
        expect(message[field], json).toBe(bits === 32 ? Number(value) : value);
      }
    }
  });

  test.each(integerTypes)("$field, and says its range to what is beyond", (type) => {
    const description = `${kindOf(type)}, from ${type.min} to ${type.max}`;
    for (const value of [type.min - 1n, type.max + 1n]) {
      for (const json of [`${value}`, `${value}.0`, `${value * 10n}e-1`, `"${value}"`]) {
        const text = `{"${type.field}":${json}}`;
        expect(
          refusalOf(() => read(EveryFieldSchema, text)),
          json,
        ).toEqual({
          message: `${type.field} ${description}`,
          violations: [[type.field, description]],
        });
      }
    }
  });

  test.each([two53 - 1n, two53, two53 + 1n, -two53 + 1n, -two53, -two53 - 1n])(
    "every 64-bit integer type exactly: %s",
    (value) => {
      for (const { field, min } of integerTypes.filter(({ bits }) => bits === 64)) {
        if (value < min) continue;
        for (const json of [`${value}`, `${value}.0`, `${value * 100n}e-2`, `"${value}"`]) {
          const message = read(EveryFieldSchema, `{"${field}":${json}}`);
          expect(message[field], `${field}: ${json}`).toBe(value);
        }
      }
    },
  );

  const integers: readonly [json: string, value: number][] = [
    ["0", 0],
    ["-0", 0],
    ['"-0"', 0],
    ["0.0", 0],
    ["0e9", 0],
    ["0e-999999999", 0],
    ['"0"', 0],
    ["12", 12],
    ["12.0", 12],
    ["12.000000000000000000000000000000", 12],
    ["1.2e1", 12],
    ["1.2E+1", 12],
    ["120e-1", 12],
    ['"12"', 12],
    ["null", 0],
  ];

  test.each(integers)("every integer type from %s", (json, value) => {
    for (const { field, bits } of integerTypes) {
      const message = read(EveryFieldSchema, `{"${field}":${json}}`);
      expect(message[field], field).toBe(bits === 32 ? value : BigInt(value));
    }
  });

  const noIntegers: readonly string[] = [
    ...['""', '" "', '" 1"', '"1 "', '"\\t1"', '"1\\n"', '"\\u00a01"'],
    ...['"0x10"', '"0b1"', '"0o7"', '"01"', '"00"', '"-01"', '"+1"', '"--1"', '"-"', '"1-"'],
    ...['"1e2"', '"1.0"', '"1."', '"1,000"', '"1_000"', '"1n"', '"abc"', '"null"', '"true"'],
    ...['"NaN"', '"Infinity"', '"١"', '"１"', '"12\\u0000"'],
    ...["true", "false", "[]", "[1]", "{}", '{"value":1}'],
    ...["1.5", "-0.5", "1e-1", "12.000000000000000000001", "1e-400"],
    ...["1e20", "1e21", "1e+21", "1.5e+300", "-1e+21", "1e400", "-1e400"],
    ...["1e999999999", `1${"0".repeat(100)}`, `"1${"0".repeat(100)}"`],
  ];

  test.each(noIntegers)("no integer type from %s", (json) => {
    for (const type of integerTypes) {
      const text = `{"${type.field}":${json}}`;
      expect(
        refusalOf(() => read(EveryFieldSchema, text)),
        type.field,
      ).toEqual({
        message: `${type.field} ${kindOf(type)}`,
        violations: [[type.field, kindOf(type)]],
      });
    }
  });

  describe("9007199254740993 exactly", () => {
    const n = "9007199254740993";
    const exact = 9007199254740993n;
    const rows: readonly [where: string, text: string, get: (message: EveryField) => unknown][] = [
      ["with presence", `{"optionalInt64":${n}}`, (m) => m.optionalInt64],
      ["under its proto name", `{"optional_int64":${n}}`, (m) => m.optionalInt64],
      ["under a name of its own", `{"another-name":${n}}`, (m) => m.renamed],
      ["in a list", `{"int64List":[1,${n}]}`, (m) => m.int64List[1]],
      ["as a map's value", `{"int64ByInt64":{"1":${n}}}`, (m) => m.int64ByInt64["1"]],
      ["as a map's key", `{"int64ByInt64":{"${n}":1}}`, (m) => exactKey(m.int64ByInt64)],
      ["as an unsigned key", `{"uint64ByUint64":{"${n}":1}}`, (m) => exactKey(m.uint64ByUint64)],
      ["as a zigzag key", `{"childBySint64":{"${n}":{}}}`, (m) => exactKey(m.childBySint64)],
      ["in a oneof", `{"choiceInt64":${n}}`, (m) => m.choice.value],
      ["in a child", `{"child":{"child":{"int64":${n}}}}`, (m) => m.child?.child?.int64],
      ["in a list of children", `{"children":[{},{"int64":${n}}]}`, (m) => m.children[1]?.int64],
      [
        "in a map of children",
        `{"childByString":{"a":{"int64":${n}}}}`,
        (m) => m.childByString["a"]?.int64,
      ],
      ["in a oneof's child", `{"choiceChild":{"int64":${n}}}`, choiceChildInt64],
      ["in a wrapper", `{"int64Wrapper":${n}}`, (m) => m.int64Wrapper],
      ["in an unsigned wrapper", `{"uint64Wrapper":${n}}`, (m) => m.uint64Wrapper],
      ["in a list of wrappers", `{"int64WrapperList":[${n}]}`, (m) => m.int64WrapperList[0]?.value],
      [
        "in a map of wrappers",
        `{"int64WrapperByInt32":{"1":${n}}}`,
        (m) => m.int64WrapperByInt32[1]?.value,
      ],
      ["in an Any", `{"any":${anyBook(n)}}`, (m) => bookIn(m.any)?.id],
      ["in a list of Any", `{"anyList":[${anyBook(n)}]}`, (m) => bookIn(m.anyList[0])?.id],
      ["in an Any with a wrapper", `{"any":${anyWrapper(n)}}`, (m) => wrapperIn(m.any)],
    ];

    test.each(rows)("%s", (_where, text, get) => {
      expect(get(read(EveryFieldSchema, text, { registry }))).toBe(exact);
    });

    test("where the generated type is a string", () => {
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

  const descriptions: readonly [field: string, json: string, description: string][] = [
    ["bool", '"true"', "must be true or false"],
    ["string", "1", "must be a string"],
    ["string", '"\\ud800"', "must not contain a lone surrogate"],
    ["double", '"1 "', "must be a number"],
    ["child", "[]", "must be a JSON object"],
    ["children", "{}", "must be a JSON array"],
    ["stringByString", "[]", "must be a JSON object"],
  ];

  test.each(descriptions)("no %s from %s: it %s", (field, json, description) => {
    const refusal = refusalOf(() => read(EveryFieldSchema, `{"child":{"${field}":${json}}}`));
    expect(refusal).toEqual({
      message: `${field} ${description}`,
      violations: [[`child.${field}`, description]],
    });
  });

  describe("a map's integer keys", () => {
    const accepted: readonly [field: keyof EveryField, key: string, stored: string][] = [
      ["int64ByInt64", "-9223372036854775808", "-9223372036854775808"],
      ["int64ByInt64", "9223372036854775807", "9223372036854775807"],
      ["uint64ByUint64", "18446744073709551615", "18446744073709551615"],
      ["childBySint64", "-1", "-1"],
      ["doubleByInt32", "-2147483648", "-2147483648"],
      ["bytesByUint32", "4294967295", "4294967295"],
      ["int64ByInt64", "0", "0"],
    ];

    test.each(accepted)("%s: %s", (field, key, stored) => {
      const value = field === "childBySint64" ? "{}" : field === "bytesByUint32" ? '""' : "1";
      const message = read(EveryFieldSchema, `{"${field}":{"${key}":${value}}}`);
      expect(Object.keys(message[field] as object)).toEqual([stored]);
    });

    const int64 = "must be a 64-bit integer";
    const uint64 = "must be a 64-bit unsigned integer";
    const uint32 = "must be a 32-bit unsigned integer";
    const refused: readonly [field: string, key: string, description: string][] = [
      ["int64ByInt64", "", int64],
      ["int64ByInt64", " 1", int64],
      ["int64ByInt64", "1 ", int64],
      ["int64ByInt64", "01", int64],
      ["int64ByInt64", "+1", int64],
      ["int64ByInt64", "0x10", int64],
      ["int64ByInt64", "1.0", int64],
      ["int64ByInt64", "1e2", int64],
      ["int64ByInt64", "a", int64],
      ["int64ByInt64", "true", int64],
      ["int64ByInt64", `${2n ** 63n}`, `${int64}, from ${-(2n ** 63n)} to ${2n ** 63n - 1n}`],
      ["uint64ByUint64", "-1", `${uint64}, from 0 to ${2n ** 64n - 1n}`],
      ["doubleByInt32", "01", "must be a 32-bit integer"],
      ["bytesByUint32", "4294967296", `${uint32}, from 0 to 4294967295`],
    ];

    test.each(refused)("%s: not %j", (field, key, description) => {
      const refusal = refusalOf(() => read(EveryFieldSchema, `{"${field}":{"${key}":1}}`));
      expect(refusal).toMatchObject({ violations: [[`${field}["${key}"]`, description]] });
    });

    test("0 and -0 are one key", () => {
      expect(refusalOf(() => read(EveryFieldSchema, '{"int64ByInt64":{"0":1,"-0":2}}'))).not.toBe(
        "accepted",
      );
    });
  });

  describe("a", () => {
    type Row = readonly [field: string & keyof EveryField, json: string, value: unknown];

    const accepted: readonly Row[] = [
      ["double", "1.5", 1.5],
      ["double", "-1.5", -1.5],
      ["double", "1e3", 1000],
      ["double", "1.0", 1],
      ["double", "1e+21", 1e21],
      ["double", "-0", -0],
      ["double", "-0.0", -0],
      ["double", '"-0"', -0],
      ["double", '"1.5"', 1.5],
      ["double", '"1.5e3"', 1500],
      ["double", '"-0.5"', -0.5],
      ["double", '"NaN"', Number.NaN],
      ["double", '"Infinity"', Number.POSITIVE_INFINITY],
      ["double", '"-Infinity"', Number.NEGATIVE_INFINITY],
      ["double", "9007199254740993", 9007199254740992], // the nearest double
      ["double", "0.1000000000000000055511151231257827", 0.1],
      ["double", "1.7976931348623157e308", Number.MAX_VALUE],
      ["double", "5e-324", Number.MIN_VALUE],
      ["double", "1e-400", 0],
      ["double", "null", 0],
      ["float", "1.5", 1.5],
      ["float", "-0.0", -0],
      ["float", '"NaN"', Number.NaN],
      ["float", '"-Infinity"', Number.NEGATIVE_INFINITY],
      ["float", "3.4028234663852886e38", 3.4028234663852886e38],
      ["optionalDouble", "0", 0],
      ["optionalDouble", "-0.0", -0],
      ["optionalDouble", "null", undefined],
      ["doubleList", '[1,1.0,"1",-0.0]', [1, 1, 1, -0]],
      ["doubleByInt32", '{"1":1.0,"-1":"NaN"}', { 1: 1, "-1": Number.NaN }],
      ["doubleWrapper", "1.0", 1],
      ["doubleWrapper", "-0.0", -0],
      ["doubleWrapper", '"Infinity"', Number.POSITIVE_INFINITY],
      ["floatWrapper", '"1e1"', 10],
      ["bool", "true", true],
      ["bool", "false", false],
      ["bool", "null", false],
      ["optionalBool", "false", false],
      ["boolWrapper", "true", true],
      ["string", '""', ""],
      ["string", '"1.0"', "1.0"],
      ["string", '"é🌱"', "é🌱"],
      ["string", '"\\ud83c\\udf31"', "🌱"],
      ["string", '"\\u0000"', "\0"],
      ["optionalString", '""', ""],
      ["optionalString", "null", undefined],
      ["stringWrapper", '"a"', "a"],
      ["stringList", '["","a"]', ["", "a"]],
      ["bytes", '"+/8="', Uint8Array.of(0xfb, 0xff)],
      ["bytes", '"-_8="', Uint8Array.of(0xfb, 0xff)],
      ["bytes", '"+/8"', Uint8Array.of(0xfb, 0xff)],
      ["bytes", '"-_8"', Uint8Array.of(0xfb, 0xff)],
      ["bytes", '""', new Uint8Array()],
      ["bytesWrapper", '"AA=="', Uint8Array.of(0)],
      ["genre", '"GENRE_ATLAS"', Genre.ATLAS],
      ["genre", "2", Genre.ATLAS],
      ["genre", "2.0", Genre.ATLAS],
      ["genre", "0.2e1", Genre.ATLAS],
      ["genre", "-1", Genre.LOST],
      ["genre", '"GENRE_LOST"', Genre.LOST],
      ["genre", "2147483647", 2147483647], // not a value of it: the enum is open
      ["genre", "-2147483648.0", -2147483648],
      ["genre", "null", Genre.UNSPECIFIED],
      ["genreList", '[1,1.0,"GENRE_NOVEL"]', [Genre.NOVEL, Genre.NOVEL, Genre.NOVEL]],
      ["genreByBool", '{"true":1.0,"false":"GENRE_LOST"}', { true: 1, false: -1 }],
      ["choice", "null", { case: undefined }],
      ["struct", '{"a":[1.0,1e1,null,"x",true,{}]}', { a: [1, 10, null, "x", true, {}] }],
      ["struct", '{"a":9007199254740993}', { a: 9007199254740992 }], // a Struct holds doubles
      ["struct", "{}", {}],
      ["fieldMask", '"a,b.cD"', expect.objectContaining({ paths: ["a", "b.c_d"] })],
      ["timestamp", '"1970-01-01T00:00:01.5Z"', expect.objectContaining({ seconds: 1n })],
      ["duration", '"-1.5s"', expect.objectContaining({ seconds: -1n, nanos: -500000000 })],
      ["value", "1.0", numberValue(1)],
      ["value", "-0.0", numberValue(-0)],
      ["value", "null", expect.objectContaining({ kind: { case: "nullValue", value: 0 } })],
    ];

    test.each(accepted)("%s from %s", (field, json, value) => {
      const key = field === "choice" ? "choiceInt64" : field;
      expect(read(EveryFieldSchema, `{"${key}":${json}}`)[field]).toEqual(value);
    });

    const refused: readonly [field: string, json: readonly string[]][] = [
      [
        "double",
        [
          ...['""', '" 1"', '"1 "', '"0x10"', '"+1"', '"01"', '".5"', '"5."', '"1_0"', '"1,0"'],
          ...['"inf"', '"nan"', '"infinity"', '"+Infinity"', '"-NaN"', '"Infinity "', '"1e400"'],
          ...["true", "[]", "{}", "1e400", "-1e400", "1.8e308", "1e999999999"],
        ],
      ],
      ["float", ["3.5e38", "-3.5e38", '"3.5e38"', "1e400", '"0x10"', "true", '""']],
      ["optionalDouble", ["1e400", '""', "false"]],
      ["doubleList", ["[null]", "[1e400]", "1", "{}", '"1"']],
      ["doubleByInt32", ['{"1":null}', '{"1":1e400}', "[]", "1"]],
      ["doubleWrapper", ["1e400", '" 1"', "{}", '{"value":1}']],
      ["bool", ['"true"', '"false"', "0", "1", '""', '"True"', "[]", "{}", "1.0"]],
      ["boolList", ["[null]", '["true"]', "true"]],
      ["boolWrapper", ['"true"', "1"]],
      ["string", ["1", "1.0", "9007199254740993", "true", "[]", "{}"]],
      ["string", ['"\\ud800"', '"\\udfff"', '"\\udf31\\ud83c"', '"a\\ud83cb"']],
      ["stringList", ["[null]", "[1]", '["\\ud800"]', '"a"', "{}"]],
      ["stringByString", ['{"a":null}', '{"a":1}', '{"a":"\\ud800"}', '{"\\ud800":"a"}', "[]"]],
      ["stringWrapper", ["1", '"\\ud800"', "{}"]],
      ["choiceString", ["1", '"\\ud800"', "[]"]],
      ["bytes", ["5", "5.0", '"*"', '"A"', "true", "[]", "{}", "[0]"]],
      ["bytesWrapper", ["1.0", '"*"']],
      ["genre", ['"NOVEL"', '"genre_novel"', '"1"', '""', "1.5", "1e+21", "2147483648"]],
      ["genre", ["true", "[]", "{}", "1e400", "9007199254740993"]],
      ["genreList", ["[null]", '["NOVEL"]', "1"]],
      ["genreByBool", ['{"TRUE":1}', '{"1":1}', '{"":1}', '{"true":null}', '{"true":"X"}']],
      ["child", ["1", "1.0", '"{}"', "true", "[]"]],
      ["children", ["{}", "[null]", "[[]]", "[1.0]", '"[]"']],
      ["childByString", ["[]", '{"a":null}', '{"a":1.0}', '{"a":[]}', "1"]],
      ["choiceNull", ["0.5", '"x"', "true", "{}"]],
      ["timestamp", ["0", "1.0", '""', '"1970-01-01"', '"1970-01-01T00:00:00"', "{}", "[]"]],
      ["timestamp", ['"10000-01-01T00:00:00Z"', '"1970-13-01T00:00:00Z"', "true"]],
      ["duration", ["1", "1.0", '"1"', '"s"', '"1.s"', "{}", '"315576000001s"']],
      ["fieldMask", ["1", "[]", '"a_b"', "{}"]],
      ["struct", ["[]", "1", "1.0", '"{}"', '{"a":1e400}', '{"a":[{"b":-1e400}]}']],
      ["struct", ['{"a":"\\ud800"}', '{"\\ud800":1}', '{"a":["\\udc00"]}']],
      ["value", ["1e400", '"\\ud800"', '["\\ud800"]', '{"\\ud800":1}']],
      ["listValue", ["{}", "1", "[1e400]", '["\\ud800"]']],
      ["valueByString", ['{"a":1e400}', '{"a":"\\ud800"}', "[]"]],
      ["fieldMask", ['"\\ud800"']],
      ["any", ["[]", "1", "1.0", '{"@type":""}', '{"@type":1.0}', '{"@type":"a/"}']],
      ["any", ['{"@type":"a/unknown.Type"}', '{"value":1}', '{"@type":null}']],
    ];

    const rows = refused.flatMap(([field, texts]) => texts.map((json) => [field, json] as const));

    test.each(rows)("%s, not from %s", (field, json) => {
      const text = `{"${field}":${json}}`;
      expect(refusalOf(() => read(EveryFieldSchema, text, { registry }))).not.toBe("accepted");
    });
  });

  describe("an Any", () => {
    test("as empty, from an empty object", () => {
      const { any } = read(EveryFieldSchema, '{"any":{}}', { registry });
      expect(any).toMatchObject({ typeUrl: "", value: new Uint8Array() });
    });

    test("wherever its @type stands", () => {
      const text = '{"any":{"id":9007199254740993,"@type":"x/library.v1.Book"}}';
      expect(bookIn(read(EveryFieldSchema, text, { registry }).any)?.id).toBe(9007199254740993n);
    });

    test("of a type with a JSON of its own", () => {
      const text = '{"any":{"@type":"x/google.protobuf.Timestamp","value":"1970-01-01T00:00:01Z"}}';
      const { any } = read(EveryFieldSchema, text, { registry });
      expect(anyUnpack(any as Any, TimestampSchema)?.seconds).toBe(1n);
    });

    test("but not with a field that its message does not know", () => {
      const text = `{"any":{"@type":"x/library.v1.Book","isbn":1}}`;
      const refusal = refusalOf(() => read(EveryFieldSchema, text, { registry }));
      expect(refusal).toMatchObject({ violations: [["any.isbn", "is not a known field"]] });
    });

    test("but not with what its message does not hold", () => {
      const text = `{"any":{"@type":"x/library.v1.Book","id":"x"}}`;
      const refusal = refusalOf(() => read(EveryFieldSchema, text, { registry }));
      expect(refusal).toMatchObject({ violations: [["any.id", "must be a 64-bit integer"]] });
    });
  });

  test("messages that contain themselves, one hundred deep", () => {
    const nest = (depth: number, inner: string) =>
      `${'{"child":'.repeat(depth)}${inner}${"}".repeat(depth)}`;
    let message: EveryField | undefined = read(
      EveryFieldSchema,
      nest(99, '{"int64":9007199254740993}'),
    );
    for (let depth = 0; depth < 99; depth++) message = message?.child;
    expect(message?.int64).toBe(9007199254740993n);
    expect(refusalOf(() => read(EveryFieldSchema, nest(100, "{}")))).not.toBe("accepted");
  });

  test("keys that every object has, as any other", () => {
    const keys = ["__proto__", "constructor", "toString", "hasOwnProperty"];
    for (const key of keys) {
      const strings = read(EveryFieldSchema, `{"stringByString":{"${key}":"a"},"int64":1.0}`);
      expect(Object.entries(strings.stringByString)).toEqual([[key, "a"]]);
      const children = read(EveryFieldSchema, `{"childByString":{"${key}":{"int64":1.0}}}`);
      expect(Object.entries(children.childByString)).toMatchObject([[key, { int64: 1n }]]);
      const { struct } = read(EveryFieldSchema, `{"struct":{"${key}":{"${key}":1.0}}}`);
      expect(Object.keys(struct ?? {})).toEqual([key]);
      const refusal = refusalOf(() => read(EveryFieldSchema, `{"${key}":1}`));
      expect(refusal).toMatchObject({ violations: [[key, "is not a known field"]] });
    }
    expect({}).not.toHaveProperty("int64");
  });
});

function kindOf({ bits, min }: IntegerType): string {
  return `must be a ${bits}-bit ${min < 0n ? "" : "unsigned "}integer`;
}

/** The one key of a map, as the integer that it stands for. */
function exactKey(map: object): bigint {
  const [key = ""] = Object.keys(map);
  return BigInt(key);
}

function anyBook(id: string): string {
  return `{"@type":"type.googleapis.com/library.v1.Book","id":${id}}`;
}

function anyWrapper(value: string): string {
  return `{"@type":"type.googleapis.com/google.protobuf.Int64Value","value":${value}}`;
}

function bookIn(any: Any | undefined): Book | undefined {
  return any && anyUnpack(any, BookSchema);
}

function wrapperIn(any: Any | undefined): bigint | undefined {
  return any && anyUnpack(any, Int64ValueSchema)?.value;
}

function choiceChildInt64({ choice }: EveryField): bigint | undefined {
  return choice.case === "choiceChild" ? choice.value.int64 : undefined;
}

function numberValue(value: number) {
  return expect.objectContaining({ kind: { case: "numberValue", value } });
}
