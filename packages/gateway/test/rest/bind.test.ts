/** What body, query and path set, and fields that one of them repeats. */
import {
  create,
  createFileRegistry,
  type DescMessage,
  type MessageInitShape,
  toJson,
} from "@bufbuild/protobuf";
import {
  type DescriptorProtoSchema,
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bindRequest, createNameMatcher, type RequestParts } from "../../src/rest/request/bind.ts";
import { changesIn } from "../../src/rest/request/update-mask.ts";
import { type FieldPath, findFieldPath, jsonPath } from "../../src/rest/rule/field-path.ts";
import { bindingsOf } from "../../src/rest/rule/rule.ts";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";
import { bind, bound, type Json, type Sent, violationsOf } from "../support/bind.ts";
import { describeMethod } from "../support/described-method.ts";

const notObject = "must be a JSON object";
const notInt64 = "must be a 64-bit integer";
const notGenre = "must be a value of Genre";
const options = { ignoreUnknownFields: true }; // ignores members of the body alone
const both = { child: { string: "a", int64: "1" } };

describe("body, query and path each set their fields:", () => {
  test.each<[sent: Sent, message: Json]>([
    [{}, {}],
    [{ bodyField: "child", body: '{"int64":1}' }, { child: { int64: "1" } }],
    [{ bodyField: "child", body: "{}" }, { child: {} }],
    [{ bodyField: "child", body: "null" }, {}],
    [{ bodyField: "int32_list", body: "[1,2]" }, { int32List: [1, 2] }],
    [{ bodyField: "string_by_string", body: '{"a":"b"}' }, { stringByString: { a: "b" } }],
    [{ bodyField: "child" }, {}],
    [{ body: "null" }, {}], // in a stream, a message without a body
    [
      { bodyField: "child", body: '{"int64":1}', query: "int64=2" },
      { child: { int64: "1" }, int64: "2" },
    ],
    [{ path: { "child.string": "a" }, query: "child.int64=1" }, both],
    [{ path: { "child.string": "a" }, bodyField: "child", body: '{"int64":1}' }, both],
    [
      { path: { string: "a" }, query: "int64=1", bodyField: "child", body: '{"bool":true}' },
      { string: "a", int64: "1", child: { bool: true } },
    ],
    [{ path: { "child.child.int64": "1" } }, { child: { child: { int64: "1" } } }],
    [{ path: { int64_wrapper: "0" } }, { int64Wrapper: "0" }],
  ])("%j: %j", (sent, message) => {
    expect(bound(sent)).toEqual(message);
  });

  test.each<[sent: Sent, field: string, description: string]>([
    [{ body: "{}" }, "", "must not have a body"],
    [{ bodyField: "*", body: "[]" }, "", notObject],
    [{ bodyField: "*", body: "null" }, "", notObject],
    [{ bodyField: "child", body: "1" }, "child", notObject],
    [{ bodyField: "int64", body: '"a"' }, "int64", notInt64],
    [{ bodyField: "child", body: '{"a":1}' }, "child.a", "is not a known field"],
    [{ path: { int64: "a" } }, "int64", notInt64],
    [{ path: { bool: "1" } }, "bool", "must be true or false"],
    [{ path: { "child.string": "a" }, bodyField: "*", body: '{"child":[]}' }, "child", notObject],
    [{ path: { "child.string": "a" }, bodyField: "child", body: "1" }, "child", notObject],
    ...["null", "1", "[]"].map((body): [Sent, string, string] => [
      { path: { string: "a" }, bodyField: "*", body },
      ...(["", notObject] as const),
    ]),
    [
      { path: { "child.int64": "1" }, body: '{"int64":"a"}', bodyField: "child" },
      "child.int64",
      notInt64,
    ],
    [{ path: { "child.genre": "NOVEL" }, options }, "child.genre", notGenre],
    [{ query: "genre_list=1&genre_list=NOVEL", options }, "genreList[1]", notGenre],
  ])("but not %j: %s %s", (sent, field, description) => {
    expect(violationsOf(() => bind(sent))).toEqual([[field, description]]);
  });
});

/** A repetition in a body, and in a query if possible. */
interface Claim {
  readonly field: string;
  readonly path: string;
  readonly body?: string;
  readonly query?: string;
}

function sentOf({ field, path, body, query = "" }: Claim): Sent {
  const parts = { path: { [field]: path }, query };
  return body === undefined ? parts : { ...parts, bodyField: "*", body };
}

test.each<[field: string, path: string, said: Partial<Claim>]>([
  ["string", "a", { body: '{"string":"a"}' }],
  ["string", "a", { query: "string=a" }],
  ["child.string", "a", { body: '{"child":{"string":"a"}}' }],
  // With either name.
  ["optional_int64", "1", { body: '{"optional_int64":"1"}' }],
  ["renamed", "1", { body: '{"another-name":1}' }],
  ["choice_child.optional_int64", "1", { body: '{"choice_child":{"optional_int64":1}}' }],
  // In any form.
  ["int64", "1", { body: '{"int64":1.0}' }],
  ["int64", "0", { body: '{"int64":"-0"}' }],
  ["int64", "9007199254740993", { body: '{"int64":"9007199254740993"}' }],
  ["genre", "GENRE_NOVEL", { body: '{"genre":1}' }],
  ["bytes", "-_8", { body: '{"bytes":"+/8="}' }],
  ["timestamp", "2026-01-02T03:04:05Z", { body: '{"timestamp":"2026-01-02T04:04:05+01:00"}' }],
  // null sets nothing.
  ["string", "a", { body: '{"string":null}' }],
  ["optional_int64", "1", { body: '{"optional_int64":null}' }],
  ["child.string", "a", { body: '{"child":null}' }],
  ["choice_int64", "1", { body: '{"choiceString":null}' }],
  ["choice_child.string", "a", { body: '{"choiceChild":null,"choiceBool":null}' }],
  // Neither does this.
  ["child.string", "a", { body: '{"child":{}}' }],
])("%s is %j in the path, and may be so elsewhere: %j", (field, path, said) => {
  expect(bound(sentOf({ field, path, ...said }))).toEqual(bound({ path: { [field]: path } }));
});

describe("a body or query that contradicts the path is rejected:", () => {
  const otherwise = "must be what the path says, or be left out";
  test.each<[field: string, path: string, said: Partial<Claim>]>([
    ["string", "a", { body: '{"string":"b"}' }],
    ["string", "a", { query: "string=b" }],
    ["string", "", { query: "string=a" }],
    ["string", "é", { query: "string=e%CC%81" }], // not normalised
    ["child.string", "a", { body: '{"child":{"string":"b"}}' }],
    ["int64", "9007199254740993", { body: '{"int64":"9007199254740992"}' }],
    ["int64", "9007199254740993", { body: '{"int64":9007199254740992.0}' }],
    ["bytes", "-_8", { query: "bytes=AA" }],
    ["timestamp", "2026-01-02T03:04:05Z", { body: '{"timestamp":"2026-01-02T03:04:05.1Z"}' }],
    ["field_mask", "a,b", { query: "field_mask=b,a" }],
  ])("%s is %j, but %j", (field, path, said) => {
    const names = findFieldPath(EveryFieldSchema, field)?.path as FieldPath;
    expect(violationsOf(() => bind(sentOf({ field, path, ...said })))).toEqual([
      [jsonPath(names), otherwise],
    ]);
  });

  const once = "must be given once";
  const oneof = "must have one member only";
  test.each<[field: string, said: Partial<Claim>, violated: string, why: string]>([
    // However often it occurs, it is a scalar.
    ["string", { query: "string=1&string=1" }, "string", once],
    // A second name must not bypass the path.
    ["renamed", { body: '{"another-name":null,"renamed":2}' }, "renamed", once],
    // Neither must another member of its oneof.
    ["choice_int64", { body: '{"choiceString":"a"}' }, "choice", oneof],
    ["choice_int64", { body: '{"choiceNull":null}' }, "choice", oneof],
    ["choice_int64", { query: "choice_string=a" }, "choice", oneof],
    ["choice_child.int64", { body: '{"choiceString":"a"}' }, "choice", oneof],
  ])("%s is 1, but %j", (field, said, violated, why) => {
    expect(violationsOf(() => bind(sentOf({ field, path: "1", ...said })))).toEqual([
      [violated, why],
    ]);
  });
});

describe("a query parameter sets its field:", () => {
  test.each<[query: string, message: Json]>([
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
    ["string=b;int32=1", { string: "b;int32=1" }],
    ["string=b#c", { string: "b#c" }],
    ["string=%C3%A9%EF%BB%BF%00", { string: "é\ufeff\0" }],
    // Names and values are decoded once.
    ["%73tring=%2525", { string: "%25" }],
    // Presence is kept where the field has it.
    ["string=", {}],
    ["optional_string", { optionalString: "" }],
    ["optional_int64=0", { optionalInt64: "0" }],
    ["choice_string=", { choiceString: "" }],
    // Integers are exact.
    ["uint64=18446744073709551615", { uint64: "18446744073709551615" }],
    ["bool=true", { bool: true }],
    // Enums.
    ["genre=GENRE_ATLAS", { genre: "GENRE_ATLAS" }],
    ["genre=99", { genre: 99 }], // of an open enum, any number
    ["genre=-2", { genre: -2 }],
    ["choice_null=NULL_VALUE", { choiceNull: null }],
    // Bytes in both alphabets, with and without padding.
    ["bytes=-_8", { bytes: "+/8=" }],
    ["bytes=AA+/", { bytes: "AA+/" }],
    // Lists, in order, under either name.
    ["string_list=b&string_list=a&string_list=b", { stringList: ["b", "a", "b"] }],
    // Wrappers have the text of their value, and are set if it is given.
    ["int64_wrapper=9007199254740993", { int64Wrapper: "9007199254740993" }],
    // `+` is a space in text alone: no other type has any.
    ["timestamp=2026-01-02T03:04:05+01:00", { timestamp: "2026-01-02T02:04:05Z" }],
    ["double=1e+3&float=1e+3", { double: 1000, float: 1000 }],
    ["double_list=1e+3&double_wrapper=1e+3", { doubleList: [1000], doubleWrapper: 1000 }],
    ["double_by_int32[1]=1e+3", { doubleByInt32: { "1": 1000 } }],
    ["bytes=+/8=&bytes_list=+/8=", { bytes: "+/8=", bytesList: ["+/8="] }],
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
    ["string_by_string[+]=a", { stringByString: { " ": "a" } }],
    ["string_by_string[constructor]=a", { stringByString: { constructor: "a" } as Json }],
    ["string_by_string[__proto__]=a", { stringByString: JSON.parse('{"__proto__":"a"}') }],
    ["int64_by_int64[-1]=9007199254740993", { int64ByInt64: { "-1": "9007199254740993" } }],
  ])("%s", (query, message) => {
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
    // Messages without a text form.
    ["children={}", "children", message],
    ["list_value.values=1", "list_value.values", unknown],
    // Only a map takes a key, and it requires one.
    ["string_by_string=a", "string_by_string", keyed],
    ["string_by_string[a=b", "string_by_string[a", unknown],
    ["string_list[0]=a", "string_list[0]", unknown],
    ["child_by_string[a]=1", "child_by_string[a]", message],
    // A singular field may occur only once.
    ["string=a&string=a", "string", once],
    ["optional_int64=1&optionalInt64=1", "optionalInt64", once],
    ["string_by_string[a]=b&string_by_string[a]=b", "string_by_string[a]", once],
    // A oneof has one member.
    ["choice_int64=1&choice_string=a", "choice", oneof],
    ["child.choice_int64=1&child.choice_bool=true", "child.choice", oneof],
    // Scalars.
    ["int64=", "int64", int64],
    ["int64=+1", "int64", int64],
    ["int64=9223372036854775808", "int64", `${int64}, from ${-(2n ** 63n)} to ${2n ** 63n - 1n}`],
    ["bool=1", "bool", bool],
    ["genre=NOVEL", "genre", genre],
    ["double=1e400", "double", "must be a number nearer to 0"],
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
    ["=a", '[""]', unknown],
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
    ["*", "child.string=a", "child.string"],
    ["*", "stringByString[a]=b", "stringByString[a]"],
    ["*", "nothing=a", "nothing", "is not a known query parameter"],
    ["child", "child.string=a", "child.string"],
    ["string_by_string", "string_by_string[a]=b", "string_by_string[a]"],
  ])("body %s, ?%s", (bodyField, query, field, description = inBody) => {
    expect(violationsOf(() => bind({ bodyField, query, body: "{}" }))).toEqual([
      [field, description],
    ]);
    expect(violationsOf(() => bind({ bodyField, query }))).toEqual([[field, description]]);
  });
});

const text = { type: Type.STRING, label: Label.OPTIONAL };

/** Fields whose JSON names contain the separators of parameter names. */
const odd: MessageInitShape<typeof DescriptorProtoSchema> = {
  name: "Odd",
  field: [
    { ...text, number: 7, name: "short", jsonName: "a" },
    { ...text, number: 1, name: "brackets", jsonName: "a[b]" },
    { ...text, number: 2, name: "dots", jsonName: "a.b" },
    { ...text, number: 6, name: "proto", jsonName: "__proto__" },
    {
      ...{ number: 4, name: "inner", jsonName: "a[0]" },
      ...{ type: Type.MESSAGE, typeName: ".test.v1.Odd", label: Label.OPTIONAL },
    },
    {
      ...{ number: 5, name: "entries", jsonName: "e[x]" },
      ...{ type: Type.MESSAGE, typeName: ".test.v1.Odd.EntriesEntry", label: Label.REPEATED },
    },
  ],
  nestedType: [
    {
      name: "EntriesEntry",
      options: { mapEntry: true },
      field: [
        { ...text, number: 1, name: "key", jsonName: "key" },
        { ...text, number: 2, name: "value", jsonName: "value" },
      ],
    },
  ],
};

/** The JSON name of one field is the proto name of the other. */
const crossed: MessageInitShape<typeof DescriptorProtoSchema> = {
  name: "Crossed",
  field: [
    { ...text, number: 1, name: "kind", jsonName: "type" },
    { ...text, number: 2, name: "type", jsonName: "code" },
  ],
};

const registry = createFileRegistry(
  create(FileDescriptorProtoSchema, {
    ...{ name: "test/v1/odd.proto", package: "test.v1", syntax: "proto3" },
    messageType: [odd, crossed],
  }),
  () => undefined,
);

function messageOf(name: string): DescMessage {
  const message = registry.getMessage(`test.v1.${name}`);
  if (message === undefined) throw new Error("the message was not built");
  return message;
}

function boundBy(message: DescMessage, given: Partial<RequestParts>) {
  const parts = { pathValues: [], query: "", bodyField: undefined, body: undefined, ...given };
  return toJson(message, bindRequest(message, parts, {}));
}

const boundOdd = (query: string) => boundBy(messageOf("Odd"), { query });

describe("a name that is one field's in JSON, and another's in the proto, is the first one's", () => {
  const message = messageOf("Crossed");
  const method = describeMethod(message, { pattern: { case: "get", value: "/{type}" } });
  const both = { type: "a", code: "b" };

  test.each(["type=a&code=b", "kind=a&code=b"])("in the query %s", (query) => {
    expect(boundBy(message, { query })).toEqual(both);
  });

  test("in a body, but not in a path", () => {
    expect(boundBy(message, { bodyField: "*", body: { ...both } })).toEqual(both);
    const path = bindingsOf(method)[0]?.variables[0]?.path as FieldPath;
    const pathValues = [{ path, text: "b" }];
    expect(boundBy(message, { bodyField: "*", body: { type: "a" }, pathValues })).toEqual(both);
  });

  test("in a merge patch", () => {
    const json = { type: "a", code: null };
    const changes = changesIn({ body: { message }, fixed: [] } as never, json, true);
    expect(changes.map(({ names }) => names)).toEqual([["kind"], ["type"]]);
  });
});

describe("a JSON name with brackets or dots is a parameter:", () => {
  test.each([
    ["a[b]=1", { "a[b]": "1" }],
    ["brackets=1", { "a[b]": "1" }],
    ["a.b=1", { "a.b": "1" }],
    ["a[0].a[b]=1", { "a[0]": { "a[b]": "1" } }],
    ["__proto__=1&a[0].__proto__=2", JSON.parse('{"__proto__":"1","a[0]":{"__proto__":"2"}}')],
    ["e[x][k]=1", { "e[x]": { k: "1" } }],
    ["entries[k]=1&a[0].e[x][k]=2", { "e[x]": { k: "1" }, "a[0]": { "e[x]": { k: "2" } } }],
  ])("%s", (query, message) => {
    expect(boundOdd(query)).toEqual(message);
  });

  const unknown = "is not a known query parameter";
  test.each<[name: string, why: string]>([
    ...["a[c]", "a[b][c]", "a[b].c", "e[x].k"].map((name): [string, string] => [name, unknown]),
    ["a[0]", "is a message, which a query cannot hold"],
    ["e[x]", "must have a key in brackets: e[x][key]"],
  ])("but not %s", (name, why) => {
    expect(violationsOf(() => boundOdd(`${name}=1`))).toEqual([[name, why]]);
  });
});

describe("a pattern of ignored parameters matches", () => {
  test.each<[pattern: string, names: readonly string[], others: readonly string[]]>([
    ["fbclid", ["fbclid"], ["", "fbclid2", "xfbclid", "FBCLID"]],
    ["utm_*", ["utm_", "utm_source", "utm_*"], ["utm", "xutm_a", "Utm_a"]],
    ["*", ["", "anything", "a.b[c]"], []],
    ["[a]+", ["[a]+"], ["a", "aa"]],
  ])("%s", (pattern, names, others) => {
    const matches = createNameMatcher(["nothing-else", pattern]);
    expect(names.filter((name) => !matches(name))).toEqual([]);
    expect(others.filter(matches)).toEqual([]);
  });

  test("nothing, if there is none", () => {
    expect(createNameMatcher([])("")).toBe(false);
  });
});
