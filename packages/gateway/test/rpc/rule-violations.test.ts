import { type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { violationsToProto } from "@bufbuild/protovalidate";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { createValidateInterceptor } from "@connectrpc/validate";
import { describe, expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { connectErrorFrom } from "../../src/errors/errors.ts";
import { requireFields } from "../../src/index.ts";
import type { LibrarySchema } from "../gen/library/v1/library_pb.ts";
import { send } from "../support/catalog.ts";
import { jsonOf, openGateway } from "../support/gateway.ts";
import { openProtocols } from "../support/open-client.ts";
import { validatedLibrary } from "../support/validated-library.ts";
import { refusalFor } from "../support/violations.ts";

type LibraryInit = MessageInitShape<typeof LibrarySchema>;

function open(interceptors: Interceptor[] = [createValidateInterceptor()]) {
  return openGateway({
    routes: (router) => {
      router.service(validatedLibrary, { updateLibrary: (library) => library });
    },
    interceptors,
  });
}

const tooShort = "must be at least 2 characters";

describe("a violated rule of protovalidate is reported like every other violation:", () => {
  test.each<
    [
      what: string,
      library: LibraryInit,
      violations: readonly (readonly [field: string, description: string])[],
    ]
  >([
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
  ])("%s", async (_what, library, violations) => {
    await using gateway = await open();
    for (const { version, open: openClient } of openProtocols) {
      using opened = openClient(validatedLibrary, gateway.origin(version));
      expect(await refusalFor(opened.client.updateLibrary(library))).toMatchObject({ violations });
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
          violations: [expect.objectContaining({ ruleId: "string.max_len" })],
        },
        {
          "@type": "type.googleapis.com/google.rpc.BadRequest",
          fieldViolations: [{ field: "displayName", description: "must be at most 8 characters" }],
        },
      ],
    });
  });
});

describe("combined with requireFields, the first of the two rejects:", () => {
  const validate = createValidateInterceptor();
  test.each<[what: string, interceptors: Interceptor[], field: string]>([
    ["requireFields", [requireFields, validate], "shelves[0].theme"],
    ["protovalidate", [validate, requireFields], "displayName"],
  ])("%s", async (_what, interceptors, field) => {
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
  test.each<[what: string, code: Code, details: ConnectError["details"]]>([
    ["that says of itself what is wrong with the request", Code.InvalidArgument, [own, found]],
    ["that another service has answered", Code.InvalidArgument, [bytes]],
    ["that is not about the request", Code.Internal, [found]],
    ["without details", Code.InvalidArgument, []],
  ])("%s", (_what, code, details) => {
    const error = Object.assign(new ConnectError("wrong", code), { details });
    expect(connectErrorFrom(error)).toBe(error);
  });
});
