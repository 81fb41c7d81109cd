import { createRegistry } from "@bufbuild/protobuf";
import {
  type Any,
  anyUnpack,
  DurationSchema,
  EmptySchema,
  TimestampSchema,
} from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { type EveryField, EveryFieldSchema, Genre } from "../gen/library/v1/fields_pb.ts";
import { BookSchema } from "../gen/library/v1/library_pb.ts";
import { GetRequestSchema } from "../gen/openapi/old/v1/old_pb.ts";
import { readJson as read } from "../support/json-reader.ts";
import { refusalOf } from "../support/violations.ts";

const registry = createRegistry(BookSchema, DurationSchema, EmptySchema, TimestampSchema);

describe("JSON is read as", () => {
  test.each<[field: string, json: string, description: string]>([
    ["bool", '"true"', "must be true or false"],
    ["string", '"\\ud800"', "must not contain a lone surrogate"],
    ["double", '"1 "', "must be a number"],
    ["child", "[]", "must be a JSON object"],
  ])("no %s from %s: it %s", (field, json, description) => {
    expect(refusalOf(() => read(EveryFieldSchema, `{"child":{"${field}":${json}}}`))).toEqual({
      message: `${field} ${description}`,
      violations: [[`child.${field}`, description]],
    });
  });

  describe("a", () => {
    type Row = readonly [field: string & keyof EveryField, json: string, value: unknown];

    const accepted: readonly Row[] = [
      ["double", "1e+21", 1e21],
      ["double", "-0", -0],
      ["double", "-0.0", -0],
      ["double", '"-0"', -0],
      ["double", '"-Infinity"', Number.NEGATIVE_INFINITY],
      ["double", "9007199254740993", 9007199254740992], // the nearest double
      ["double", "1.7976931348623157e308", Number.MAX_VALUE],
      ["double", "1e-400", 0],
      ["float", "3.4028234663852886e38", 3.4028234663852886e38],
      ["float", "0.1", Math.fround(0.1)], // as in binary
      // The form of Go, Java and C++, and the last double that rounds to it.
      ["float", "3.4028235e38", 3.4028234663852886e38],
      ["float", "3.4028235677973362e38", 3.4028234663852886e38],
      ["doubleList", '[1,1.0,"1",-0.0]', [1, 1, 1, -0]],
      ["doubleByInt32", '{"1":1.0,"-1":"NaN"}', { 1: 1, "-1": Number.NaN }],
      ["string", '"\\ud83c\\udf31"', "🌱"],
      ["bytes", '"-_8"', Uint8Array.of(0xfb, 0xff)],
      ["genre", "0.2e1", Genre.ATLAS],
      ["genre", "2147483647", 2147483647], // not a known value: the enum is open
      ["genreList", '[1,1.0,"GENRE_NOVEL"]', [Genre.NOVEL, Genre.NOVEL, Genre.NOVEL]],
      ["genreByBool", '{"true":1.0,"false":"GENRE_LOST"}', { true: 1, false: -1 }],
      ["choice", "null", { case: undefined }],
      ["struct", '{"a":[1.0,1e1,null,"x",true,{}]}', { a: [1, 10, null, "x", true, {}] }],
      ["struct", '{"a":9007199254740993}', { a: 9007199254740992 }], // a Struct holds doubles
      ["fieldMask", '"a,b.cD"', expect.objectContaining({ paths: ["a", "b.c_d"] })],
      ["timestamp", '"2000-02-29T23:59:59Z"', secondsOf(951868799n)],
      ["timestamp", '"0001-01-01T00:00:00Z"', secondsOf(-62135596800n)],
      ["timestamp", '"2020-12-31T23:59:59+23:59"', secondsOf(1609372859n)],
      ["duration", '"-1.5s"', expect.objectContaining({ seconds: -1n, nanos: -500000000 })],
      ["value", "-0.0", numberValue(-0)],
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
      ["float", ["3.4028235677973366e38", "-3.5e38", '"3.5e38"', "1e400", '"0x10"', "true", '""']],
      ["doubleByInt32", ['{"1":null}', '{"1":1e400}', "[]", "1"]],
      ["bool", ['"true"', '"false"', "0", "1", '""', '"True"', "[]", "{}", "1.0"]],
      ["string", ["1", "1.0", "9007199254740993", "true", "[]", "{}"]],
      ["string", ['"\\ud800"', '"\\udfff"', '"\\udf31\\ud83c"', '"a\\ud83cb"']],
      ["stringByString", ['{"a":null}', '{"a":1}', '{"a":"\\ud800"}', '{"\\ud800":"a"}', "[]"]],
      ["bytes", ["5", "5.0", '"*"', '"A"', "true", "[]", "{}", "[0]"]],
      ["bytes", ['"A="', '"A==="', '"QUJDR="', '"===="', '"Zg==="', '"Zg="', '"Zm9v=Zm9v"']],
      ["bytes", ['"Zm9v-/"', '"Z g="', '" Zg=="', '"Zg==\\n"']],
      ["genre", ['"NOVEL"', '"genre_novel"', '"1"', '""', "1.5", "1e+21", "2147483648"]],
      ["genre", ["true", "[]", "{}", "1e400", "9007199254740993"]],
      ["genreByBool", ['{"TRUE":1}', '{"1":1}', '{"":1}', '{"true":null}', '{"true":"X"}']],
      ["child", ["1", "1.0", '"{}"', "true", "[]"]],
      ["childByString", ["[]", '{"a":null}', '{"a":1.0}', '{"a":[]}', "1"]],
      ["choiceNull", ["0.5", '"x"', "true", "{}"]],
      ["timestamp", ["0", "1.0", '""', '"1970-01-01"', '"1970-01-01T00:00:00"', "{}", "[]"]],
      ["timestamp", ['"2021-02-29T00:00:00Z"', '"2021-02-30T00:00:00Z"', '"1900-02-29T00:00:00Z"']],
      ["timestamp", ['"2021-04-31T00:00:00Z"', '"2021-01-01T24:00:00Z"', '"2021-01-00T00:00:00Z"']],
      ["timestamp", ['"10000-01-01T00:00:00Z"', '"1970-13-01T00:00:00Z"', "true"]],
      ["duration", ["1", "1.0", '"1"', '"s"', '"1.s"', "{}", '"315576000001s"']],
      ["duration", ['"1s500ms"', '"1s "', '"1sx"', '"1.5s1"', '"1.0000000001s"']],
      ["fieldMask", ["1", "[]", '"a_b"', "{}"]],
      ["struct", ["[]", "1", "1.0", '"{}"', '{"a":1e400}', '{"a":[{"b":-1e400}]}']],
      ["struct", ['{"a":"\\ud800"}', '{"\\ud800":1}', '{"a":["\\udc00"]}']],
      ["value", ["1e400", '"\\ud800"', '["\\ud800"]', '{"\\ud800":1}']],
      ["valueByString", ['{"a":1e400}', '{"a":"\\ud800"}', "[]"]],
      ["any", ["[]", "1", "1.0", '{"@type":""}', '{"@type":1.0}', '{"@type":"a/"}']],
      ["any", ['{"@type":"a/unknown.Type"}', '{"value":1}', '{"@type":null}']],
      ["any", ['{"@type":"\\ud800/google.protobuf.Empty"}']],
      ["any", ['{"@type":"a/google.protobuf.Duration","value":"1s","more":1}']],
      ["any", ['{"@type":"a/google.protobuf.Empty","value":{"more":1}}']],
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

    test("but not of a type whose required fields are missing", () => {
      const text = `{"any":{"@type":"x/${GetRequestSchema.typeName}","id":"1"}}`;
      const types = createRegistry(GetRequestSchema);
      const refusal = refusalOf(() => read(EveryFieldSchema, text, { registry: types }));
      expect(refusal).toMatchObject({ violations: [["any", expect.stringContaining("must be")]] });
    });

    test("of an Empty, with the value that Go writes or without", () => {
      for (const more of ["", ',"value":{}']) {
        const text = `{"any":{"@type":"x/google.protobuf.Empty"${more}}}`;
        const { any } = read(EveryFieldSchema, text, { registry });
        expect(anyUnpack(any as Any, EmptySchema)).toBeDefined();
      }
    });
  });

  test("more messages beside each other than may be in each other", () => {
    const text = `{"children":[${Array(101).fill('{"child":{}}').join()}]}`;
    expect(read(EveryFieldSchema, text).children).toHaveLength(101);
  });

  test("keys that every object has, like any other", () => {
    for (const key of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
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

function secondsOf(seconds: bigint) {
  return expect.objectContaining({ seconds });
}

function numberValue(value: number) {
  return expect.objectContaining({ kind: { case: "numberValue", value } });
}
