/** Rules for protos that one cannot annotate, in the YAML of a service configuration. */
import { expect, test } from "vitest";
import { parseRules } from "../../src/cli/rules.ts";

test("rules are read as google.api.Service has them", () => {
  const rules = parseRules(
    `type: google.api.Service
config_version: 3
http:
  rules:
    - selector: bookshop.v1.BookService.GetBook
      get: /v1/books/{id}
      response_body: book
      additional_bindings:
        - get: /v1/b/{id}
`,
    "rules.yaml",
  );
  expect(rules).toMatchObject([
    {
      selector: "bookshop.v1.BookService.GetBook",
      pattern: { case: "get", value: "/v1/books/{id}" },
      responseBody: "book",
      additionalBindings: [{ pattern: { case: "get", value: "/v1/b/{id}" } }],
    },
  ]);
});

const rule = (text: string) => `http:\n  rules:\n    - selector: a.B.C\n      ${text}\n`;

test.each([
  ["an unknown key of a rule", rule("gett: /a"), 'rules.yaml:3: rule 1: .*"gett" is unknown'],
  ["two patterns", rule("get: /a\n      put: /a"), "rules.yaml:3: rule 1: .*pattern"],
  ["a key that is given twice", rule("get: /a\n      get: /b"), "rules.yaml:5: "],
  ["no selector", "http:\n  rules:\n    - get: /a\n", "rules.yaml:3: rule 1: .*selector"],
  ["a rule that is none", "http: { rules: [get] }", "rules.yaml:1: rule 1: must have a selector"],
  ["an unknown key", "http: { rules: [] }\napis: []\n", "rules.yaml:2: apis is unknown"],
  ["another type", "type: google.api.Other\nhttp: { rules: [] }\n", "rules.yaml:1: type must be"],
  ["an unknown key in http", "http:\n  a: true\n  rules: []\n", "rules.yaml:2: http.a is unknown"],
  ["a tag", rule("get: !a /a"), "rules.yaml:4: .*tag"],
  ["nothing", "", "rules.yaml: must be http: "],
])("%s is named", (_what, text, message) => {
  expect(() => parseRules(text, "rules.yaml")).toThrow(new RegExp(message));
});
