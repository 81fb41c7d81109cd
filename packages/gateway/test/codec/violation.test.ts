import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { badRequest, FieldViolation } from "../../src/codec/violation.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { openCatalogOf } from "../support/catalog.ts";
import { grpcProtocol } from "../support/open-client.ts";

describe("a violation", () => {
  const rows: readonly [names: readonly string[], field: string, message: string][] = [
    [[], "", "the request must be right"],
    [["id", "[2]", "books", "shelf"], "shelf.books[2].id", "id must be right"],
    [["[0]", "[1]", "grid"], "grid[1][0]", "grid[1][0] must be right"],
    // A map key is not a path.
    [["[0]", '["a.b"]', "shelf"], 'shelf["a.b"][0]', 'shelf["a.b"][0] must be right'],
  ];

  test.each(rows)("within %j is at %s: %s", (names, field, message) => {
    const violation = names.reduce(
      (inner, name) => inner.within(name),
      new FieldViolation("", "must be right"),
    );
    expect(violation).toMatchObject({ field, message, description: "must be right" });
  });

  test("of a field with a name of a megabyte is short", () => {
    const name = `[${"a".repeat(1_000_000)}[`;
    const { field, message } = new FieldViolation("", "is wrong").within(name).within("books");
    expect(field).toMatch(/^books\[a+…$/);
    expect(message.length).toBeLessThan(220);
  });
});

describe("the error of violations", () => {
  const cause = new Error("inner");
  const error = badRequest([
    new FieldViolation("id", "is required", { cause }).within("book"),
    new FieldViolation("", "is too large"),
  ]);

  test("carries a google.rpc.BadRequest, and the cause of the first", () => {
    expect(error.cause).toBe(cause);
    expect(error.findDetails(BadRequestSchema)).toMatchObject([
      {
        fieldViolations: [
          { field: "book.id", description: "is required" },
          { field: "", description: "is too large" },
        ],
      },
    ]);
  });

  test("names a hundred of them, and how many more there are", () => {
    const many = Array.from({ length: 1000 }, (_, i) => new FieldViolation(`a[${i}]`, "is wrong"));
    const error = badRequest(many);
    expect(error.rawMessage).toMatch(/^a\[0\] is wrong; .*; a\[99\] is wrong; and 900 more$/);
    expect(error.findDetails(BadRequestSchema)[0]?.fieldViolations).toHaveLength(100);
  });

  test("fits into the trailers of gRPC, however many and long they are", async () => {
    const many = Array.from(
      { length: 5000 },
      () => new FieldViolation("b".repeat(300), "c".repeat(300)),
    );
    await using gateway = await openCatalogOf({
      getVolume: () => Promise.reject(badRequest(many)),
    });
    using caller = grpcProtocol.open(CatalogService, gateway.origin("2"));
    const error = await caller.client.getVolume({}).catch(ConnectError.from);
    expect(error).toMatchObject({ code: Code.InvalidArgument });
    expect((error as ConnectError).findDetails(BadRequestSchema)[0]?.fieldViolations).toHaveLength(
      100,
    );
  });
});
