import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { messageFromJson, parseJson } from "../../src/codec/json-messages.ts";
import { messageToJson } from "../../src/codec/json-writer.ts";
import { type EveryField, EveryFieldSchema, type Genre } from "../gen/library/v1/fields_pb.ts";
import { anyMessage } from "../support/arbitrary-message.ts";

const big = 9007199254740993n;
const least = -(2n ** 63n);
const most = 2n ** 64n - 1n;

function textOf(message: EveryField, int64?: "string" | "number"): string {
  return JSON.stringify(messageToJson(EveryFieldSchema, message, { ...(int64 && { int64 }) }));
}

describe("int64 as number", () => {
  const rows: readonly [
    what: string,
    init: MessageInitShape<typeof EveryFieldSchema>,
    text: string,
  ][] = [
    ["int64", { int64: least }, `{"int64":${least}}`],
    ["uint64", { uint64: most }, `{"uint64":${most}}`],
    ["sint64", { sint64: -big }, `{"sint64":${-big}}`],
    ["fixed64", { fixed64: big }, `{"fixed64":${big}}`],
    ["sfixed64", { sfixed64: -big }, `{"sfixed64":${-big}}`],
    ["a zero that is set", { optionalInt64: 0n }, '{"optionalInt64":0}'],
    ["in a list", { int64List: [1n, -big] }, `{"int64List":[1,${-big}]}`],
    ["in a list of uint64", { uint64List: [most] }, `{"uint64List":[${most}]}`],
    ["in a map, but for its key", { int64ByInt64: { "5": big } }, `{"int64ByInt64":{"5":${big}}}`],
    ["in a map of uint64", { uint64ByUint64: { "5": most } }, `{"uint64ByUint64":{"5":${most}}}`],
    ["in a oneof", { choice: { case: "choiceInt64", value: big } }, `{"choiceInt64":${big}}`],
    ["in an Int64Value", { int64Wrapper: big }, `{"int64Wrapper":${big}}`],
    ["in an Int64Value of zero", { int64Wrapper: 0n }, '{"int64Wrapper":0}'],
    ["in a UInt64Value", { uint64Wrapper: most }, `{"uint64Wrapper":${most}}`],
    [
      "in a list of Int64Value",
      { int64WrapperList: [{ value: big }] },
      `{"int64WrapperList":[${big}]}`,
    ],
    [
      "in a map of Int64Value",
      { int64WrapperByInt32: { 5: { value: big } } },
      `{"int64WrapperByInt32":{"5":${big}}}`,
    ],
    ["in a message", { child: { int64: big } }, `{"child":{"int64":${big}}}`],
    [
      "in a list of messages",
      { children: [{}, { int64: big }] },
      `{"children":[{},{"int64":${big}}]}`,
    ],
    [
      "in a map of messages",
      { childByString: { a: { int64: big } } },
      `{"childByString":{"a":{"int64":${big}}}}`,
    ],
    [
      "in a message in a oneof",
      { choice: { case: "choiceChild", value: { int64: big } } },
      `{"choiceChild":{"int64":${big}}}`,
    ],
    ["under another JSON name", { renamed: big }, `{"another-name":${big}}`],
    ["with jstype, which is for JavaScript alone", { asString: "5" }, '{"asString":5}'],
  ];

  test.each(rows)("%s", (_what, init, text) => {
    expect(textOf(create(EveryFieldSchema, init), "number")).toBe(text);
  });

  test.each<[what: string, init: MessageInitShape<typeof EveryFieldSchema>]>([
    ["text that looks like a number", { string: "5", stringList: ["5"] }],
    ["a map of text", { stringByString: { int64: "5" } }],
    ["bytes", { bytes: new Uint8Array([0xd7, 0x6d, 0xf8]) }],
    ["smaller integers", { int32: 5, uint32: 5, int32List: [5] }],
    ["wrappers of others", { stringWrapper: "5", int32Wrapper: 5, doubleWrapper: 0.5 }],
    ["doubles that are no numbers", { double: Number.NaN, doubleList: [Number.POSITIVE_INFINITY] }],
    ["a Struct", { struct: { int64: "5", value: "5", child: { int64: "5" } } }],
    [
      "a Value",
      {
        value: {
          kind: {
            case: "structValue",
            value: { fields: { int64: { kind: { case: "stringValue", value: "5" } } } },
          },
        },
      },
    ],
    ["a Value of text", { value: { kind: { case: "stringValue", value: "5" } } }],
    ["a ListValue", { listValue: { values: [{ kind: { case: "stringValue", value: "5" } }] } }],
    ["a map of Value", { valueByString: { a: { kind: { case: "stringValue", value: "5" } } } }],
    ["a FieldMask", { fieldMask: { paths: ["int64"] } }],
    ["an enum", { genre: 1, genreList: [2, 77 as Genre] }],
  ])("leaves %s unchanged", (_what, init) => {
    const message = create(EveryFieldSchema, init);
    expect(textOf(message, "number")).toBe(textOf(message));
  });

  test("in fields with their proto names", () => {
    const message = create(EveryFieldSchema, { int64List: [big], renamed: 5n });
    const options = { int64: "number", useProtoFieldName: true } as const;
    const json = messageToJson(EveryFieldSchema, message, options);
    expect(JSON.stringify(json)).toBe(`{"int64_list":[${big}],"renamed":5}`);
  });

  test("in unset fields, if they are written", () => {
    const options = { int64: "number", alwaysEmitImplicit: true } as const;
    const json = messageToJson(EveryFieldSchema, create(EveryFieldSchema), options);
    expect(JSON.parse(JSON.stringify(json))).toMatchObject({ int64: 0, uint64: 0, int64List: [] });
  });
});

test.each([undefined, "string"] as const)("int64 is text if the option is %s", (int64) => {
  const message = create(EveryFieldSchema, { int64: big, int64Wrapper: 0n, int64List: [1n] });
  expect(textOf(message, int64)).toBe(`{"int64":"${big}","int64List":["1"],"int64Wrapper":"0"}`);
});

test("text with numbers is read as the same message", () => {
  fc.assert(
    fc.property(anyMessage(EveryFieldSchema), (message) => {
      const text = textOf(message, "number");
      const read = messageFromJson(EveryFieldSchema, parseJson(Buffer.from(text)), {});
      expect(asSent(read)).toEqual(asSent(message));
    }),
  );
});

/** With floats of 32 bits. */
function asSent(message: EveryField): EveryField {
  return fromBinary(EveryFieldSchema, toBinary(EveryFieldSchema, message));
}

describe("a float is the shortest decimal that is read as the same float:", () => {
  test.each<[float: number, text: string]>([
    [0.1, "0.1"],
    [3.14, "3.14"],
    [1, "1"],
    [16777216, "16777216"],
    [0.33333334, "0.33333334"],
    [1.23456789e-7, "1.2345679e-7"],
    [8.589974e9, "8589974000"],
    [3.4028232635611926e38, "3.4028233e+38"],
    [3.4028234663852886e38, "3.4028234663852886e+38"],
    [2 ** -149, "1e-45"],
    [2 ** -126, "1.1754944e-38"],
    [-0.1, "-0.1"],
    [-0, "-0"],
    [Number.NaN, '"NaN"'],
    [Number.NEGATIVE_INFINITY, '"-Infinity"'],
  ])("%d", (value, text) => {
    for (const float of [value, Math.fround(value)]) {
      const message = create(EveryFieldSchema, { float, floatList: [float], floatWrapper: float });
      const child = create(EveryFieldSchema, { child: message });
      const fields = `{"float":${text},"floatList":[${text}],"floatWrapper":${text}}`;
      expect(textOf(message)).toBe(fields);
      expect(textOf(child, "number")).toBe(`{"child":${fields}}`);
    }
  });

  test("any", () => {
    fc.assert(
      fc.property(fc.float({ noNaN: true, min: 0, max: 3.4028232635611926e38 }), (float) => {
        const text = textOf(create(EveryFieldSchema, { floatList: [float] })).slice(14, -2);
        expect(Math.fround(Number(text))).toBe(float);
        const digits = text
          .replace(/e.*/, "")
          .replace(".", "")
          .replace(/^0+|0+$/g, "").length;
        const shorter = Number(float.toPrecision(Math.max(digits - 1, 1)));
        if (digits > 1) expect(Math.fround(shorter)).not.toBe(float);
      }),
      { numRuns: 2000 },
    );
  });
});

test.each([-0, 0.1, 16777217, 1 / 3])("the double %d is exact", (double) => {
  const message = create(EveryFieldSchema, { doubleList: [double], doubleWrapper: double });
  const text = Object.is(double, -0) ? "-0" : String(double);
  expect(textOf(message)).toBe(`{"doubleList":[${text}],"doubleWrapper":${text}}`);
});
