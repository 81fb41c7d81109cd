import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bind, bound, type Json, violationsOf } from "../support/bind.ts";

describe("a query parameter sets its field:", () => {
  const rows: readonly [query: string, message: Json][] = [
    ["", {}],
    ["&string=a&&int32=1&", { string: "a", int32: 1 }],
    // By its proto name or its JSON name.
    ["optionalString=a", { optionalString: "a" }],
    ["another-name=1", { "another-name": "1" }],
    // Within messages.
    ["child.string=a&child.int64=1", { child: { string: "a", int64: "1" } }],
    [
      "child.optional_int64=0&child.optionalString=",
      { child: { optionalInt64: "0", optionalString: "" } },
    ],
    // Strings with any content: the first `=` ends the name, and only `&` separates.
    ["string=+a%2B", { string: " a+" }],
    ["string=a=b=c", { string: "a=b=c" }],
    ["string=b;int32=1", { string: "b;int32=1" }],
    ["string=b#c", { string: "b#c" }],
    ["string=%C3%A9%EF%BB%BF%00", { string: "é\ufeff\0" }],
    // Names and values are decoded once.
    ["%73tring=%2525", { string: "%25" }],
    // Presence is kept where the field has it.
    ["string=", {}],
    ["optional_string", { optionalString: "" }],
    ["optional_string=", { optionalString: "" }],
    ["optional_int64=0", { optionalInt64: "0" }],
    ["choice_string=", { choiceString: "" }],
    // Integers are exact.
    ["int64=9007199254740993", { int64: "9007199254740993" }],
    ["uint64=18446744073709551615", { uint64: "18446744073709551615" }],
    // Floats.
    ["double=NaN", { double: "NaN" }],
    // Bools.
    ["bool=true", { bool: true }],
    // Enums.
    ["genre=GENRE_ATLAS", { genre: "GENRE_ATLAS" }],
    ["genre=2", { genre: "GENRE_ATLAS" }],
    ["genre=-1", { genre: "GENRE_LOST" }],
    ["genre=99", { genre: 99 }], // of an open enum, any number
    ["choice_null=NULL_VALUE", { choiceNull: null }],
    // Bytes in both alphabets, with and without padding.
    ["bytes=-_8", { bytes: "+/8=" }],
    ["bytes=AA+/", { bytes: "AA+/" }],
    ["bytes_wrapper=AA", { bytesWrapper: "AA==" }],
    // Lists, in order, under either name.
    ["string_list=b&string_list=a&string_list=b", { stringList: ["b", "a", "b"] }],
    ["string_list=", { stringList: [""] }],
    ["int64_list=9007199254740993&int64_list=0", { int64List: ["9007199254740993", "0"] }],
    // Wrappers have the text of their value, and are set if it is given.
    ["int64_wrapper=9007199254740993", { int64Wrapper: "9007199254740993" }],
    // `+` is a space in text alone: no other type has any.
    ["timestamp=2026-01-02T03:04:05+01:00", { timestamp: "2026-01-02T02:04:05Z" }],
    ["timestamp_list=2026-01-02T03:04:05+01:00", { timestampList: ["2026-01-02T02:04:05Z"] }],
    ["double=1e+3&float=1e+3", { double: 1000, float: 1000 }],
    ["double_list=1e+3&double_wrapper=1e+3", { doubleList: [1000], doubleWrapper: 1000 }],
    ["double_by_int32[1]=1e+3", { doubleByInt32: { "1": 1000 } }],
    ["bytes=+/8=&bytes_list=+/8=", { bytes: "+/8=", bytesList: ["+/8="] }],
    ["bytes_by_uint32[1]=+/8=", { bytesByUint32: { "1": "+/8=" } }],
    ["string=a+b&string_wrapper=a+b", { string: "a b", stringWrapper: "a b" }],
    [
      "string_list=a+b&string_by_string[a+]=+",
      { stringList: ["a b"], stringByString: { "a ": " " } },
    ],
    // Masks in either spelling, mixed, repeated.
    ["field_mask=display_name,author.firstName", { fieldMask: "displayName,author.firstName" }],
    ["field_mask=a_b&fieldMask=cD,e_f.g_h", { fieldMask: "aB,cD,eF.gH" }],
    ["field_mask=&field_mask=a", { fieldMask: "a" }],
    // Messages with a text form.
    ["duration=1s", { duration: "1s" }],
    // Maps.
    ["stringByString%5Ba%5D=b", { stringByString: { a: "b" } }],
    ["string_by_string[a]=b&stringByString[c]=d", { stringByString: { a: "b", c: "d" } }],
    ["string_by_string[]=a", { stringByString: { "": "a" } }],
    ["string_by_string[a%5B0%5D]=b", { stringByString: { "a[0]": "b" } }],
    ["string_by_string[a]]=b", { stringByString: { "a]": "b" } }],
    ["string_by_string[+]=a", { stringByString: { " ": "a" } }],
    ["string_by_string[constructor]=a", { stringByString: { constructor: "a" } as Json }],
    ["string_by_string[__proto__]=a", { stringByString: JSON.parse('{"__proto__":"a"}') }],
    ["int64_by_int64[-1]=9007199254740993", { int64ByInt64: { "-1": "9007199254740993" } }],
  ];
  test.each(rows)("%s", (query, message) => {
    expect(bound({ query })).toEqual(message);
  });

  test("as often as there are parameters, up to 1000, of which empty ones do not count", () => {
    expect(
      bind({ query: `${"&".repeat(5000)}${"string_list=a&".repeat(1000)}` }).stringList,
    ).toEqual(Array(1000).fill("a"));
  });

  test("-0, of a double", () => {
    expect(bind({ query: "double=-0" }).double).toBe(-0);
  });

  test("any 64-bit integer, and any text", () => {
    const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(int64, fc.string({ unit: "grapheme", maxLength: 20 }), (int64, string) => {
        const query = new URLSearchParams({ "child.int64": String(int64), string }).toString();
        const message = bind({ query });
        expect([message.child?.int64, message.string]).toEqual([int64, string]);
      }),
    );
  });
});

describe("a query is rejected, with the parameter:", () => {
  const unknown = "is not a known query parameter";
  const message = "is a message, which a query cannot hold";
  const once = "must be given once";
  const int64 = "must be a 64-bit integer";
  const bool = "must be true or false";
  const genre = "must be a value of Genre";
  const number = "must be a number";
  const oneof = "must have one member only";
  const notUtf8 = "has a query that is not percent-encoded UTF-8";
  const keyed = "must have a key in brackets: string_by_string[key]";
  const rows: readonly [query: string, field: string, description: string][] = [
    // Unknown parameters.
    ["nothing=1", "nothing", unknown],
    ["choice=1", "choice", unknown],
    ["childXint64=1", "childXint64", unknown],
    ["constructor=1", "constructor", unknown],
    ["__proto__.int64=1", "__proto__.int64", unknown],
    ["string.a=1", "string.a", unknown],
    // Messages without a text form.
    ["children={}", "children", message],
    ["children.int64=1", "children.int64", unknown],
    ["list_value.values=1", "list_value.values", unknown],
    // Only a map takes a key, and it requires one.
    ["string_by_string=a", "string_by_string", keyed],
    ["string_by_string[a=b", "string_by_string[a", unknown],
    ["string[a]=b", "string[a]", unknown],
    ["string_list[0]=a", "string_list[0]", unknown],
    ["child_by_string[a]=1", "child_by_string[a]", message],
    ["[a]=1", "[a]", unknown],
    // A singular field may occur only once.
    ["string=a&string=a", "string", once],
    ["optional_int64=1&optionalInt64=1", "optionalInt64", once],
    ["string_by_string[a]=b&string_by_string[a]=b", "string_by_string[a]", once],
    // A oneof has one member.
    ["choice_int64=1&choice_string=a", "choice", oneof],
    ["child.choice_int64=1&child.choice_bool=true", "child.choice", oneof],
    // Integers.
    ["int64=", "int64", int64],
    ["int64=+1", "int64", int64],
    ["int64=9223372036854775808", "int64", `${int64}, from ${-(2n ** 63n)} to ${2n ** 63n - 1n}`],
    // Bools.
    ["bool=1", "bool", bool],
    // Enums.
    ["genre=NOVEL", "genre", genre],
    ["genre=", "genre", genre],
    ["genre=2147483648", "genre", genre],
    // Floats.
    ["double=", "double", number],
    ["double=1e400", "double", "must be a number nearer to 0"],
    // Bytes.
    ["bytes=a", "bytes", "must be base64"],
    // A name that ProtoJSON would read as another.
    ["field_mask=address_line_1", "field_mask", "has a name that has no JSON form"],
    // Messages with a text form.
    ["duration=1", "duration", "must be a Duration in its JSON form"],
    // Items and entries are named.
    ["int64List=1&int64List=a", "int64List[1]", int64],
    ["int64ByInt64[1]=a", 'int64ByInt64["1"]', int64],
    // UTF-8.
    ...[
      ...["string=%ff", "%ff=a", "string=%", "string=%u00e9", "string=%C0%AF", "string=%ED%A0%80"],
      "string=%C3&optional_string=%A9",
    ].map((query): [string, string, string] => [query, "", notUtf8]),
    ["=a", "", unknown],
    ["string_list=a&".repeat(1001), "", "must not have more than 1000 query parameters"],
  ];
  test.each(rows.map(([query, ...violation]) => ({ query, violation })))(
    "$query: $violation",
    ({ query, violation }) => {
      expect(violationsOf(() => bind({ query }))).toEqual([violation]);
    },
  );

  test.each([
    ["int64_by_int64[0]=1&int64_by_int64[-0]=2", "a key in another spelling"],
    ["genre_by_bool[1]=1", "a key that is no bool"],
    ["timestamp.seconds=1", "the inside of a Timestamp"],
    ["field_mask.paths=a", "the inside of a FieldMask"],
    ["int64_wrapper.value=1", "the inside of a wrapper"],
    ["any.type_url=a", "the inside of an Any"],
    ["duration=1s&duration.seconds=1", "a message, and what is in it"],
  ])("%s (%s)", (query) => {
    expect(violationsOf(() => bind({ query }))).toHaveLength(1);
  });
});

test("an endless path is not a known query parameter", () => {
  const query = `${"child.".repeat(2600)}int64=1`;
  const refusal = violationsOf(() => bind({ query }));
  expect(refusal).toEqual([[expect.any(String), "is not a known query parameter"]]);
});

describe("a parameter that the body also sets is rejected:", () => {
  const inBody = "belongs in the body, not in the query";
  test.each<[bodyField: string, query: string, field: string, description?: string]>([
    ["*", "string=a", "string"],
    ["*", "child.string=a", "child.string"],
    ["*", "stringByString[a]=b", "stringByString[a]"],
    ["*", "nothing=a", "nothing", "is not a known query parameter"],
    ["child", "child.string=a", "child.string"],
    ["string_list", "stringList=a", "stringList"],
    ["string_by_string", "string_by_string[a]=b", "string_by_string[a]"],
  ])("body %s, ?%s", (bodyField, query, field, description = inBody) => {
    expect(violationsOf(() => bind({ bodyField, query, body: "{}" }))).toEqual([
      [field, description],
    ]);
    expect(violationsOf(() => bind({ bodyField, query }))).toEqual([[field, description]]);
  });
});
