import { create, type MessageInitShape, toBinary, toJsonString } from "@bufbuild/protobuf";
import { violationsToProto } from "@bufbuild/protovalidate";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { createValidateInterceptor } from "@connectrpc/validate";
import { describe, expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { connectErrorFrom } from "../../src/errors/errors.ts";
import { requireFields } from "../../src/index.ts";
import { BookSchema, type LibrarySchema } from "../gen/library/v1/library_pb.ts";
import { send } from "../support/catalog.ts";
import { collect } from "../support/collect.ts";
import { jsonOf, openGateway } from "../support/gateway.ts";
import { grpcProtocol, openProtocols } from "../support/open-client.ts";
import { validatedLibrary } from "../support/validated-library.ts";
import { refusalFor } from "../support/violations.ts";

type LibraryInit = MessageInitShape<typeof LibrarySchema>;

function open(interceptors: Interceptor[] = [createValidateInterceptor()]) {
  return openGateway({
    routes: (router) => {
      router.service(validatedLibrary, {
        updateLibrary: (library) => library,
        async *followBook(book) {
          yield book;
        },
        importBooks: async (books) => ({ count: BigInt((await collect(books)).length) }),
        async *exchangeBooks(books) {
          yield* books;
        },
      });
    },
    interceptors,
    rest: {
      rules: [
        {
          selector: "library.v1.LibraryService.FollowBook",
          pattern: { case: "post", value: "/v1/books:follow" },
          body: "*",
        },
        {
          selector: "library.v1.LibraryService.ImportBooks",
          pattern: { case: "post", value: "/v1/books:import" },
          body: "*",
        },
      ],
    },
  });
}

const tooShort = "must be at least 2 characters";

describe("a violated rule of protovalidate is reported like every other violation:", () => {
  const rows: readonly [
    what: string,
    library: LibraryInit,
    violations: readonly (readonly [field: string, description: string])[],
  ][] = [
    ["a field", { displayName: "a long name" }, [["displayName", "must be at most 8 characters"]]],
    [
      "fields in a list and in each other",
      { displayName: "a", shelves: [{ theme: "ab" }, { theme: "a", annex: { theme: "" } }] },
      [
        ["shelves[1].theme", tooShort],
        ["shelves[1].annex.theme", tooShort],
      ],
    ],
    [
      "a field in a map",
      {
        displayName: "a",
        shelves: [{ theme: "ab", books: { 'x"y': { id: 0n, title: "t", authors: ["a"] } } }],
      },
      [['shelves[0].books["x"y"].id', "must be greater than 0"]],
    ],
    [
      "the key of a map",
      { shelvesByRoom: { "-1": { theme: "ab" } } },
      [['shelvesByRoom["-1"]', "must be greater than 0"]],
    ],
    ["the message", { shelves: [{ theme: "ab" }] }, [["", "a library with shelves has a name"]]],
  ];

  test.each(rows)("%s", async (_what, library, violations) => {
    await using gateway = await open();
    for (const { version, open: openClient } of openProtocols) {
      using opened = openClient(validatedLibrary, gateway.origin(version));
      const refusal = await refusalFor(opened.client.updateLibrary(library));
      expect(refusal).toMatchObject({ violations });
    }
  });

  test("by REST, with the violations of protovalidate before it", async () => {
    await using gateway = await open();
    const response = await gateway.send(send("PUT", "/v1/library", { displayName: "a long name" }));
    expect(response.status).toBe(400);
    expect(jsonOf(response)).toEqual({
      code: Code.InvalidArgument,
      message: "display_name: must be at most 8 characters [string.max_len]",
      details: [
        {
          "@type": "type.googleapis.com/buf.validate.Violations",
          violations: [
            expect.objectContaining({
              ruleId: "string.max_len",
              message: "must be at most 8 characters",
            }),
          ],
        },
        {
          "@type": "type.googleapis.com/google.rpc.BadRequest",
          fieldViolations: [{ field: "displayName", description: "must be at most 8 characters" }],
        },
      ],
    });
  });
});

const wrong = { id: 0n, title: "t", authors: ["a"] };
const wrongId = { violations: [["id", "must be greater than 0"]] };

async function* books() {
  yield { ...wrong, id: 1n };
  yield wrong;
}

describe.each(openProtocols)("in a stream by $name,", ({ version, open: openClient }) => {
  test("of responses, the request is rejected", async () => {
    await using gateway = await open();
    using opened = openClient(validatedLibrary, gateway.origin(version));
    expect(await refusalFor(collect(opened.client.followBook(wrong)))).toMatchObject(wrongId);
  });

  test("of requests, the message is rejected", async () => {
    await using gateway = await open();
    using opened = openClient(validatedLibrary, gateway.origin(version));
    expect(await refusalFor(opened.client.importBooks(books()))).toMatchObject(wrongId);
  });
});

test("in a stream of both, the message is rejected", async () => {
  await using gateway = await open();
  using opened = grpcProtocol.open(validatedLibrary, gateway.origin("2"));
  const answers = opened.client.exchangeBooks(books());
  expect(await refusalFor(collect(answers))).toMatchObject(wrongId);
});

describe("in a stream by REST,", () => {
  const body = toJsonString(BookSchema, create(BookSchema, wrong));
  const rows = [
    ["of responses", "/v1/books:follow", "application/json"],
    ["of requests", "/v1/books:import", "application/x-ndjson"],
  ] as const;

  test.each(rows)("%s, the request is rejected", async (_what, path, type) => {
    await using gateway = await open();
    const response = await gateway.send({ path, headers: { "content-type": type }, body });
    expect(response.status).toBe(400);
    expect(jsonOf(response)).toMatchObject({
      details: [
        { "@type": "type.googleapis.com/buf.validate.Violations" },
        { fieldViolations: [{ field: "id", description: "must be greater than 0" }] },
      ],
    });
  });
});

describe("combined with requireFields, the first of the two rejects:", () => {
  const validate = createValidateInterceptor();
  const rows: readonly [what: string, interceptors: Interceptor[], field: string][] = [
    ["requireFields", [requireFields, validate], "shelves[0].theme"],
    ["protovalidate", [validate, requireFields], "displayName"],
  ];
  test.each(rows)("%s", async (_what, interceptors, field) => {
    await using gateway = await open(interceptors);
    const library = { displayName: "a long name", shelves: [{}] };
    const response = await gateway.send(send("PUT", "/v1/library", library));
    expect(response.status).toBe(400);
    const { details } = jsonOf(response) as { details: object[] };
    expect(details.at(-1)).toMatchObject({ fieldViolations: [{ field }] });
  });
});

describe("an error is unchanged", () => {
  const [value, desc] = violationsToProto([]);
  const found = { desc, value };
  const bytes = { type: desc.typeName, value: toBinary(desc, value) };
  const own = { desc: BadRequestSchema, value: {} };
  const rows: readonly [what: string, code: Code, details: ConnectError["details"]][] = [
    ["that says of itself what is wrong with the request", Code.InvalidArgument, [own, found]],
    ["that another service has answered", Code.InvalidArgument, [bytes]],
    ["that is not about the request", Code.Internal, [found]],
    ["without details", Code.InvalidArgument, []],
  ];
  test.each(rows)("%s", (_what, code, details) => {
    const error = Object.assign(new ConnectError("wrong", code), { details });
    expect(connectErrorFrom(error)).toBe(error);
  });
});
