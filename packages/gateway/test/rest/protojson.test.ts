/** What the documentation and ProtoJSON say of forms that few services have. */
import { expect, test } from "vitest";
import { type EveryField, FieldService } from "../gen/library/v1/fields_pb.ts";
import { BookService } from "../gen/openapi/books/v1/books_pb.ts";
import { jsonOf, openGateway, type SentRequest } from "../support/gateway.ts";

const selector = "library.v1.FieldService.Echo";

/** The echo at a path of GET, or left to RPC by an empty one; and the books. */
async function answerTo(request: SentRequest, path = "/v1/fields", responseBody = "") {
  await using gateway = await openGateway({
    routes: (router) => {
      router.service(FieldService, { echo: (message: EveryField) => message });
      router.service(BookService, { keepValue: (value) => value, keepTime: (time) => time });
    },
    rest: { rules: [{ selector, pattern: { case: "get", value: path }, responseBody }] },
  });
  const response = await gateway.send(request);
  const body = response.body.length === 0 ? undefined : jsonOf(response);
  return [response.status, response.status === 200 ? body : (body as { message: string }).message];
}

const get = (path: string): SentRequest => ({ method: "GET", path });
const post = (path: string, body: string): SentRequest => ({
  ...{ path, body, headers: { "content-type": "application/json" } },
});
const nested = (depth: number, open: string, close: string) =>
  `${open.repeat(depth)}{}${close.repeat(depth)}`;

test.each<[request: SentRequest, status: number, said: unknown]>([
  // A body of a type whose JSON is no object.
  [post("/v1/value", '"x"'), 200, "x"],
  [post("/v1/value", "null"), 200, null],
  [post("/v1/value", '{"a":{"b":1}}'), 200, { a: { b: 1 } }],
  [post("/v1/time", '"2026-01-02T03:04:05Z"'), 200, "2026-01-02T03:04:05Z"],
  [post("/v1/time", "{}"), 400, "the request must be a Timestamp in its JSON form"],
  [
    post("/v1/time?seconds=1", '"2026-01-02T03:04:05Z"'),
    400,
    "seconds belongs in the body, not in the query",
  ],
  [{ path: "/v1/time" }, 200, "1970-01-01T00:00:00Z"],
  // Names of parameters.
  [get("/v1/fields?struct="), 400, "struct is a message, which a query cannot hold"],
])("a request, and its answer: %j gets %i: %j", async (request, status, said) => {
  expect(await answerTo(request)).toEqual([status, said]);
});

test.each<[path: string, request: string, status: number]>([
  ["/", "/", 200],
  ["/", "/v1/fields", 404],
  ["", "/", 404], // of no pattern: REST does not serve the method
  ["", "/v1/fields", 404], // its own annotation is replaced
])("a rule of GET %j: %s gets %i", async (path, request, status) => {
  expect((await answerTo(get(request), path))[0]).toBe(status);
});

const echo = "/library.v1.FieldService/Echo";

test.each<[what: string, path: string, most: number, open: string, close: string]>([
  ["messages", echo, 100, '{"child":', "}"],
  ["lists", echo, 100, '{"children":[', "]}"],
  ["maps", echo, 100, '{"childByString":{"a":', "}}"],
  ["values", "/openapi.books.v1.BookService/KeepValue", 99, "[", "]"],
])("%s nest so deep, as in protobuf", async (_what, path, most, open, close) => {
  const statusOf = async (depth: number) =>
    (await answerTo(post(path, nested(depth - 1, open, close))))[0];
  expect([await statusOf(most), await statusOf(most + 1)]).toEqual([200, 400]);
});
