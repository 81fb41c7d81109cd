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
      additional_bindings:
        - get: /v1/b/{id}
    - selector: bookshop.v1.BookService.CreateBook
      post: /v1/books
      body: book
      response_body: book
`,
    "rules.yaml",
  );
  expect(rules).toMatchObject([
    {
      selector: "bookshop.v1.BookService.GetBook",
      pattern: { case: "get", value: "/v1/books/{id}" },
      additionalBindings: [{ pattern: { case: "get", value: "/v1/b/{id}" } }],
    },
    {
      selector: "bookshop.v1.BookService.CreateBook",
      pattern: { case: "post", value: "/v1/books" },
      body: "book",
      responseBody: "book",
    },
  ]);
});

const rule = (text: string) => `http:\n  rules:\n    - selector: a.B.C\n      ${text}\n`;

test.each([
  ["an unknown key of a rule", rule("gett: /a"), 'rules.yaml:3: rule 1: .*"gett" is unknown'],
  ["two patterns", rule("get: /a\n      put: /a"), "rules.yaml:3: rule 1: .*pattern"],
  ["a path that is no text", rule("get: [a]"), "rules.yaml:3: rule 1: "],
  ["a key that is given twice", rule("get: /a\n      get: /b"), "rules.yaml:5: "],
  [
    "a rule without a selector",
    "http:\n  rules:\n    - get: /a\n",
    "rules.yaml:3: rule 1: .*selector",
  ],
  ["a rule that is none", "http: { rules: [get] }", "rules.yaml:1: rule 1: must have a selector"],
  [
    "an unknown key beside http",
    "http: { rules: [] }\napis: []\n",
    "rules.yaml:2: apis is unknown",
  ],
  ["another type", "type: google.api.Other\nhttp: { rules: [] }\n", "rules.yaml:1: type must be"],
  [
    "an option of http that is not served",
    "http:\n  fully_decode_reserved_expansion: true\n  rules: []\n",
    "rules.yaml:2: http.fully_decode_reserved_expansion is unknown",
  ],
  ["no rules", "http: {}", "rules.yaml: must be http: "],
  ["no YAML", "http: [", "rules.yaml:1: "],
  ["nothing", "", "rules.yaml: must be http: "],
])("%s is named", (_what, text, message) => {
  expect(() => parseRules(text, "rules.yaml")).toThrow(new RegExp(message));
});
