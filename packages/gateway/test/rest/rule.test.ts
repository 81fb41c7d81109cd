import { create, type DescField } from "@bufbuild/protobuf";
import { EmptySchema, StringValueSchema, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { type HttpRule, HttpRuleSchema } from "../../gen/google/api/http_pb.ts";
import { HttpBodySchema } from "../../gen/google/api/httpbody_pb.ts";
import { type Binding, bindingsOf, RuleError } from "../../src/rest/rule/rule.ts";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";
import { PageRequestSchema } from "../gen/openapi/books/v1/books_pb.ts";
import { describeMethod, type MethodDescription, type Rule } from "../support/described-method.ts";

function methodWith(rule: Rule | undefined, streams?: MethodDescription["streams"]) {
  return describeMethod(EveryFieldSchema, rule, streams && { streams });
}

/** A binding with its fields by name. */
function readable({ method, template, body, responseBody }: Binding) {
  const nameOf = (field: DescField | "*" | undefined) =>
    typeof field === "object" ? field.name : field;
  return { method, path: template.text, body: nameOf(body), responseBody: nameOf(responseBody) };
}

function get(path: string): HttpRule {
  return create(HttpRuleSchema, { pattern: { case: "get", value: path } });
}

function post(path: string): HttpRule {
  return create(HttpRuleSchema, { pattern: { case: "post", value: path } });
}

function custom(kind: string, path = "/v1/a"): HttpRule {
  return create(HttpRuleSchema, { pattern: { case: "custom", value: { kind, path } } });
}

describe("the bindings of a method", () => {
  test.each(["*", "HEAD", "X-FIND"])("may have the method %s", (kind) => {
    expect(bindingsOf(methodWith(custom(kind))).map(readable)).toMatchObject([{ method: kind }]);
  });

  test.each([
    ["/{child.string}", "child"],
    ["/{child.choice_string}", "choice_child"],
    ["/{choice_string}/{child.choice_int64}", "child"],
  ])("may have a body and a variable: %s, %s", (path, body) => {
    expect(bindingsOf(methodWith({ ...post(path), body })).map(readable)).toMatchObject([
      { path, body },
    ]);
  });

  test("may be a GET of a message without fields", () => {
    expect(bindingsOf(describeMethod(EmptySchema, get("/a")))).toHaveLength(1);
  });

  test("come from the last rule with the method's selector instead, if there is one", () => {
    const rules = ["Call", "Call", "Other"].map((name, i) =>
      create(HttpRuleSchema, { ...get(`/${name}${i}`), selector: `test.v1.Described.${name}` }),
    );
    const bindings = bindingsOf(methodWith(get("/a")), { rules }).map(readable);
    expect(bindings).toMatchObject([{ path: "/Call1" }]);
  });

  test("are none if a rule with the method's selector has no pattern", () => {
    const none = create(HttpRuleSchema, { selector: "test.v1.Described.Call" });
    expect(bindingsOf(methodWith(get("/a")), { rules: [none] })).toEqual([]);
    expect(bindingsOf(methodWith(get("/a"), "both"), { rules: [none] })).toEqual([]);
    const forgotten = create(HttpRuleSchema, { selector: "test.v1.Described.Call", body: "*" });
    expect(() => bindingsOf(methodWith(get("/a")), { rules: [forgotten] })).toThrow(
      /no HTTP method and path/,
    );
  });

  test("are none without the option", () => {
    expect(bindingsOf(methodWith(undefined))).toEqual([]);
    for (const streams of ["requests", "responses", "both"] as const) {
      expect(bindingsOf(methodWith(undefined, streams))).toEqual([]);
    }
  });
});

describe("an invalid rule is rejected, with the method's name:", () => {
  const noMethod = "it has no HTTP method and path";
  const oneof = "/{child.choice_string}/{child.choice_int64}";
  const two = "two fields are members of the oneof choice";
  const column = (path: string, at: number) => `${path}: column ${at}: `;
  const whole = (path: string) =>
    `${path}: only body "*", without variables, sets a google.protobuf.`;
  const ofBody = (path: string) => `${path}: the body sets all of its google.api.HttpBody`;
  test.each<[rule: Rule, reason: string, types?: Partial<MethodDescription>]>([
    [{}, noMethod],
    [get("a"), column("a", 1)],
    [get("/%ff"), column("/%ff", 5)],
    [get("/{nothing}"), column("/{nothing}", 3)],
    [get("/{child}"), column("/{child}", 3)],
    [get("/{string_by_string}"), column("/{string_by_string}", 3)],
    [
      get("/{optional_int64}/{optionalInt64}"),
      "/{optional_int64}/{optionalInt64}: the field optional_int64 is bound twice",
    ],
    [get(oneof), `${oneof}: ${two}`],
    [{ ...post("/{string}"), body: "string" }, "/{string}: the field string is bound twice"],
    [{ ...post("/{choice_string}"), body: "choice_child" }, `/{choice_string}: ${two}`],
    [{ ...get("/a"), body: "*" }, "GET /a must not have a body"],
    [{ ...custom("HEAD"), body: "*" }, "HEAD /v1/a must not have a body"],
    [{ ...post("/a"), body: "nothing" }, "library.v1.EveryField has no field nothing"],
    [{ ...get("/a"), responseBody: "nothing" }, "library.v1.EveryField has no field nothing"],
    [{ ...get("/a"), additionalBindings: [get("/b"), get("/c/")] }, column("/c/", 4)],
    [{ ...get("/a"), additionalBindings: [create(HttpRuleSchema, { body: "*" })] }, noMethod],
    [
      { ...get("/a"), additionalBindings: [{ ...get("/b"), additionalBindings: [get("/c")] }] },
      "additional_bindings must not have their own",
    ],
    [custom(""), '"" is not an HTTP method'],
    [custom("GE T"), '"GE T" is not an HTTP method'],
    [custom("get"), '"get" is not an HTTP method, in capitals'],
    [custom("CONNECT"), "CONNECT has no path: it asks for a tunnel"],
    // What the request or the response has there would be lost.
    [get("/a"), whole("/a"), { input: TimestampSchema }],
    [{ ...post("/a"), body: "value" }, whole("/a"), { input: StringValueSchema }],
    [{ ...post("/{value}"), body: "*" }, whole("/{value}"), { input: StringValueSchema }],
    [{ ...post("/{data}"), body: "*" }, ofBody("/{data}"), { input: HttpBodySchema }],
    [
      { ...post("/{content.content_type}"), body: "content" },
      ofBody("/{content.content_type}"),
      { input: PageRequestSchema },
    ],
    [
      { ...get("/a"), responseBody: "seconds" },
      "google.protobuf.Timestamp is a value in JSON, without a field seconds",
      { output: TimestampSchema },
    ],
  ])("%j: %s", (rule, reason, types) => {
    const method = describeMethod(EveryFieldSchema, rule, types);
    const message = `google.api.http of test.v1.Described.Call: ${reason}`;
    expect(() => bindingsOf(method)).toThrow(RuleError);
    expect(() => bindingsOf(method)).toThrow(message);
  });

  test("a rule for a bidirectional stream", () => {
    expect(() => bindingsOf(methodWith(get("/a"), "both"))).toThrow(
      "google.api.http of test.v1.Described.Call: HTTP has no form for streams in both directions; a rule with this selector and no pattern leaves the method to RPC",
    );
  });
});
