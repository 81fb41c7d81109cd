/** google.protobuf.Any in JSON, without an option: the types of the services are known. */
import { create, createRegistry, ScalarType } from "@bufbuild/protobuf";
import { AnySchema, anyPack, EmptySchema, TimestampSchema } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { CardSchema } from "../gen/library/v1/card_pb.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { BookSchema } from "../gen/openapi/books/v1/books_pb.ts";
import { OldService, weight } from "../gen/openapi/old/v1/old_pb.ts";
import { openBooks } from "../support/books.ts";
import { createEchoService } from "../support/echo.ts";
import { jsonOf, openGateway } from "../support/gateway.ts";

const url = "type.googleapis.com/";
const book = anyPack(BookSchema, create(BookSchema, { title: "Emma" }));
const ofBook = { "@type": `${url}openapi.books.v1.Book`, title: "Emma" };
const retry = anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay: { seconds: 1n } }));
const atOne = "1970-01-01T00:00:01Z";
const time = anyPack(TimestampSchema, create(TimestampSchema, { seconds: 1n }));
const card = anyPack(CardSchema, create(CardSchema, { number: 1n }));
const jsonOptions = { registry: createRegistry(CardSchema) };
const ownBook = { registry: createRegistry({ ...EmptySchema, typeName: BookSchema.typeName }) };

test.each<[what: string, any: typeof book, options: object, json: unknown]>([
  ["a service's message", book, {}, ofBook],
  ["google.rpc", retry, {}, { "@type": `${url}google.rpc.RetryInfo`, retryDelay: "1s" }],
  ["an import", time, {}, { "@type": `${url}google.protobuf.Timestamp`, value: atOne }],
  ["the option", card, { jsonOptions }, { "@type": `${url}library.v1.Card`, number: "1" }],
  ["nothing", create(AnySchema), { onUnknownType: expect.unreachable }, {}],
  ["a service's message, beside the option", book, { jsonOptions }, ofBook],
  ["the option's own version", book, { jsonOptions: ownBook }, { "@type": ofBook["@type"] }],
])("an Any of %s is JSON, over REST and Connect", async (_what, any, options, json) => {
  await using books = await openBooks({ findThing: () => any }, options);
  const rest = await books.send({ method: "GET", path: "/v1/things/a" });
  const headers = { "content-type": "application/json" };
  const path = "/openapi.books.v1.BookService/FindThing";
  const connect = await books.send({ path, headers, body: "{}" });
  expect([jsonOf(rest), jsonOf(connect)]).toEqual([json, json]);
});

test("an Any of a type that is not known is an error that names it, over REST and Connect", async () => {
  const told: string[] = [];
  // Vitest fails for a rejection that nobody handles, which would end the process of a user.
  const onUnknownType = (typeName: string) => Promise.reject(told.push(typeName));
  const unknown = { typeUrl: `${url}shop.v1.Cart`, value: new Uint8Array([8, 1]) };
  const findThing = () => ({ ...card, ...unknown });
  await using books = await openBooks({ findThing }, { onUnknownType, mayFail: true });
  const rest = await books.send({ method: "GET", path: "/v1/things/a" });
  const path = "/openapi.books.v1.BookService/FindThing";
  const headers = { "content-type": "application/json" };
  for (const answer of [rest, await books.send({ path, headers, body: "{}" })]) {
    expect(answer.status).toBe(500);
    expect(jsonOf(answer)).toMatchObject({ message: expect.stringContaining("shop.v1.Cart") });
  }
  expect(told).toContain("shop.v1.Cart");
});

test.each([
  [url, url],
  ["example.com/types/", "example.com/types/"],
  ["", url], // A URL of a type has a slash.
])("an Any of the option is read, and its URL kept: %j", async (given, kept) => {
  // Another service's version of the type does not count.
  const registry = createRegistry({ ...EmptySchema, typeName: CardSchema.typeName });
  const routes = (router: ConnectRouter) =>
    router
      .service(FieldService, createEchoService(), { jsonOptions })
      .service(OldService, {}, { jsonOptions: { registry } });
  await using gateway = await openGateway({ routes });
  const headers = { "content-type": "application/json" };
  const body = { any: { "@type": `${given}library.v1.Card`, number: "9007199254740993" } };
  const request = { path: "/v1/fields", headers, body: JSON.stringify(body) };
  const any = { ...body.any, "@type": `${kept}library.v1.Card` };
  expect(jsonOf(await gateway.send(request))).toEqual({ any });
});

const asText = createRegistry({ ...weight, scalar: ScalarType.STRING } as typeof weight);

test.each([
  ["a service's file", {}, "9007199254740993"],
  ["the option, instead of that one", { jsonOptions: { registry: asText } }, "heavy"],
])("an extension of %s is read and written", async (_what, options, value) => {
  await using gateway = await openGateway({
    routes: (router) =>
      router
        .service(OldService, { put: (old) => old }, options)
        .service(FieldService, {}, { jsonOptions: { registry: createRegistry(weight) } }),
  });
  const headers = { "content-type": "application/json" };
  const body = { id: "1", "[openapi.old.v1.weight]": value };
  const request = { path: "/v1/old", headers, body: JSON.stringify(body) };
  expect(jsonOf(await gateway.send(request))).toEqual(body);
});
