import type { DescMessage, JsonValue, Message, MessageInitShape } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter, ConnectRouterOptions } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { gatewayNodeAdapter, RuleError } from "../../src/index.ts";
import { createOpenApiDocument } from "../../src/openapi/index.ts";
import { EveryFieldSchema, FieldService, Genre } from "../gen/library/v1/fields_pb.ts";
import { LibraryService } from "../gen/library/v1/library_pb.ts";
import { OldSchema } from "../gen/openapi/old/v1/old_pb.ts";
import { describeMethod, describeMethods, type Rule } from "../support/described-method.ts";
import { createEchoService } from "../support/echo.ts";
import { jsonOf, openGateway, type SentRequest } from "../support/gateway.ts";
import { createTestLibrary, openLibraryOf } from "../support/library.ts";

const json = { "content-type": "application/json" };

test("a rule that cannot be served is left out, of the document too, if somebody is told", async () => {
  const told: string[] = [];
  const rules = [
    { selector: "library.v1.FieldService.Echo", pattern: { case: "get", value: "/a/" } },
    {
      selector: "library.v1.LibraryService.CloseLibrary",
      pattern: { case: "get", value: "/v1/library" },
    },
    { selector: "library.v1.None.None", pattern: { case: "get", value: "/b" } },
  ] as const;
  const rest = {
    rules,
    onRuleError: ({ selector }: RuleError) => told.push(selector),
    // What else is said of its method is no mistake then.
    statuses: { [rules[0].selector]: 201, [rules[1].selector]: 202 },
  };
  await using gateway = await openGateway({
    routes: (router) =>
      router
        .service(LibraryService, { getLibrary: () => ({ displayName: "a" }) })
        .service(FieldService, createEchoService()),
    rest,
  });
  const left = ["library.v1.None.None", rules[1].selector, rules[0].selector];
  expect(told).toEqual(left);
  const answer = await gateway.send({ method: "GET", path: "/v1/library" });
  expect(jsonOf(answer)).toEqual({ displayName: "a" });
  const { paths } = createOpenApiDocument([LibraryService, FieldService], { rest });
  expect(told.toSorted()).toEqual([...left, ...left].toSorted());
  expect(Object.keys(paths as object)).not.toContain("/a/");
  const { onRuleError: _, ...strict } = rest;
  expect(() => createOpenApiDocument([LibraryService, FieldService], { rest: strict })).toThrow(
    RuleError,
  );
});

/** Sends a request to a library. Returns the answer and what reached the library. */
async function sendToLibrary(request: SentRequest) {
  const library = createTestLibrary();
  await using gateway = await openLibraryOf(library);
  const response = await gateway.send({ headers: json, ...request });
  const requests = library.calls.map(({ request }) => request);
  return { response, requests, answer: { status: response.status, json: jsonOf(response) } };
}

describe.each(["1.1", "2"] as const)("over HTTP/%s,", (version) => {
  type Row = readonly [
    request: Omit<SentRequest, "body"> & { readonly json?: unknown },
    reached: object,
    answer: JsonValue,
  ];
  const rows: readonly Row[] = [
    [
      { method: "PUT", path: "/v1/library", json: { displayName: "a", shelves: [{ theme: "b" }] } },
      { displayName: "a", shelves: [{ theme: "b" }] },
      { displayName: "a", shelves: [{ theme: "b" }] },
    ],
    [
      { method: "PATCH", path: "/v1/library", json: { display_name: "a" } },
      { displayName: "a" },
      { displayName: "a" },
    ],
    [
      { path: "/v1/shelves", json: { theme: "a", books: { x: { id: "9007199254740993" } } } },
      { shelf: { theme: "a", books: { x: { id: 9007199254740993n } } }, dryRun: false },
      { theme: "a", books: { x: { id: "9007199254740993" } } },
    ],
    [{ path: "/v1/shelves", json: null }, {}, {}],
    [
      { path: "/v1/books", json: [{ id: 1 }, { id: "9223372036854775807" }] },
      { books: [{ id: 1n }, { id: 9223372036854775807n }] },
      ["1", "9223372036854775807"],
    ],
    [{ path: "/v1/books" }, { books: [] }, []],
    [{ method: "SEARCH", path: "/v1/books" }, { text: "" }, { books: [{ id: "1" }] }],
    [
      { method: "SEARCH", path: "/v1/books", json: "text" },
      { text: "text" },
      { books: [{ id: "1", title: "text" }] },
    ],
    [
      { method: "GET", path: "/v1/library", headers: {} },
      { revision: 0n },
      { displayName: "Reading room" },
    ],
    [{ method: "DELETE", path: "/v1/library" }, {}, {}],
  ];

  test.each(rows)("%j", async ({ json: body, ...request }, reached, answer) => {
    const result = await sendToLibrary({
      version,
      ...request,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    expect(result.answer).toEqual({ status: 200, json: answer });
    expect(result.requests).toMatchObject([reached]);
  });
});

// Its content would be lost.
test.each([
  ["GET", "of JSON", "{}", json, 400],
  ["GET", "of another type", "a=b", { "content-type": "application/x-www-form-urlencoded" }, 400],
  ["DELETE", "of an unknown coding", "x", { ...json, "content-encoding": "zstd" }, 415],
])("an unexpected body is rejected: %s, %s", async (method, _what, body, headers, status) => {
  const { answer, requests } = await sendToLibrary({
    method,
    path: "/v1/library",
    headers: { ...headers, "content-length": String(body.length) },
    body,
  });
  expect(answer.status).toBe(status);
  expect(requests).toHaveLength(0);
});

type Violation = readonly [field: string, description: string];
test.each<[request: SentRequest, violation: Violation]>([
  [
    { path: "/v1/shelves", body: '{"shelf":{"theme":"a"},"dryRun":true}' },
    ["shelf.shelf", "is not a known field"],
  ],
  [
    { path: "/v1/books", body: '[{"id":1},{"id":" 1"}]' },
    ["books[1].id", "must be a 64-bit integer"],
  ],
])("an invalid request is rejected: %j: %j", async (request, [field, description]) => {
  const { answer, requests } = await sendToLibrary(request);
  expect(answer).toMatchObject({
    status: 400,
    json: {
      code: 3,
      message: expect.any(String),
      details: [
        {
          "@type": "type.googleapis.com/google.rpc.BadRequest",
          fieldViolations: [{ field, description }],
        },
      ],
    },
  });
  expect(requests).toEqual([]);
});

/** Sends to a method created for the rule. The implementation answers with the message. */
async function sendToDescribed(
  rule: Rule,
  output: MessageInitShape<typeof EveryFieldSchema>,
  options: ConnectRouterOptions = {},
  type: DescMessage = EveryFieldSchema,
) {
  const method = describeMethod(EveryFieldSchema, rule, { output: type });
  await using gateway = await openGateway({
    ...options,
    routes: (router) => router.rpc(method, (() => output) as never),
  });
  const response = await gateway.send({ method: "GET", path: "/v1/call" });
  return { status: response.status, json: jsonOf(response) };
}

const get = { case: "get", value: "/v1/call" } as const;

test.each<
  [
    field: string,
    output: MessageInitShape<typeof EveryFieldSchema>,
    json: JsonValue,
    type?: DescMessage,
  ]
>([
  ["child", { child: { int64: 1n } }, { int64: "1" }],
  ["child", {}, {}],
  ["string", { string: "a" }, "a"],
  ["children", { children: [{}] }, [{}]],
  ["int64_by_int64", { int64ByInt64: { "1": 2n } }, { "1": "2" }],
  ["choice_int64", { choice: { case: "choiceInt64", value: 0n } }, "0"],
  ["int64_wrapper", { int64Wrapper: 0n }, "0"],
  ["value", { value: { kind: { case: "nullValue", value: 0 } } }, null],
  ["renamed", { renamed: 1n }, "1"],
  // Zero is a value, too.
  ["string", {}, ""],
  ["genre", {}, "GENRE_UNSPECIFIED"],
  ["timestamp", {}, null],
  ["value", {}, null],
  ["optional_string", {}, null],
  // With fields that proto2 requires.
  ["requests", { id: 1n } as never, {}, OldSchema],
])("response_body %s of %o answers with %j", async (responseBody, output, expected, type) => {
  expect(await sendToDescribed({ pattern: get, responseBody }, output, {}, type)).toEqual({
    status: 200,
    json: expected,
  });
});

test.each<
  [
    what: string,
    jsonOptions: NonNullable<ConnectRouterOptions["jsonOptions"]>,
    output: MessageInitShape<typeof EveryFieldSchema>,
    json: object,
  ]
>([
  ["enums by number", { enumAsInteger: true }, { genre: Genre.ATLAS }, { genre: 2 }],
  ["proto names", { useProtoFieldName: true }, { int64List: [1n] }, { int64_list: ["1"] }],
  ["fields that are zero", { alwaysEmitImplicit: true }, {}, { int64: "0", stringList: [] }],
])("jsonOptions apply to REST as to Connect: %s", async (_what, jsonOptions, output, expected) => {
  const answer = await sendToDescribed({ pattern: get }, output, { jsonOptions });
  expect(answer).toMatchObject({ status: 200, json: expected });
});

test.each<[body: string | undefined, status: number, json: JsonValue]>([
  [undefined, 200, {}],
  ['{"a":[1]}', 200, { a: [1] }],
  ["[]", 400, expect.anything()],
])("a Struct of the body %s: %i", async (body, status, expected) => {
  const rule: Rule = { pattern: { case: "post", value: "/v1/call" }, body: "*" };
  const method = describeMethod(StructSchema, rule);
  const routes = (router: ConnectRouter) => router.rpc(method, ((one: Message) => one) as never);
  await using gateway = await openGateway({ routes });
  const response = await gateway.send({ path: "/v1/call", ...(body && { body, headers: json }) });
  expect([response.status, jsonOf(response)]).toEqual([status, expected]);
});

test.each([
  ["", 200],
  ["?int64=1", 400], // it is in the body
])("a rule for any method that has a body is served to GET: %s", async (query, status) => {
  const pattern = { case: "custom", value: { kind: "*", path: "/v1/call" } } as const;
  const method = describeMethod(EveryFieldSchema, { pattern, body: "*" });
  const routes = (router: ConnectRouter) => router.rpc(method, ((one: Message) => one) as never);
  await using gateway = await openGateway({ routes });
  expect((await gateway.send({ method: "GET", path: `/v1/call${query}` })).status).toBe(status);
});

const bad = { pattern: { case: "get", value: "/v1/{a" } } as const;
const own = { pattern: { case: "post", value: "/test.v1.Described/First" } } as const;
const taken = "google.api.http of test.v1.Described.Second: GET /v1/call is bound already";

test.each<[what: string, rules: Record<string, Rule>, error: typeof RuleError | string]>([
  ["a route of two methods", { First: { pattern: get }, Second: { pattern: get } }, taken],
  ["any rule of a method, implemented or not", { First: { pattern: get }, Bad: bad }, RuleError],
  ["a route that is a method's own path, so never reached", { First: own }, RuleError],
])("startup fails for %s", (_what, rules, error) => {
  const types = { input: EveryFieldSchema, output: EveryFieldSchema };
  const described = Object.entries(rules).map(([name, rule]) => ({ name, rule, ...types }));
  const routes = (router: ConnectRouter) => {
    for (const method of describeMethods(described)) router.rpc(method, (() => ({})) as never);
  };
  expect(() => gatewayNodeAdapter({ routes })).toThrow(error);
});
