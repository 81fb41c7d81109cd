import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { badRequest, FieldViolation } from "../../src/codec/violation.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { openShelves } from "../support/catalog.ts";
import { grpcProtocol } from "../support/open-client.ts";

test("a violation of a field with a name of a megabyte is short", () => {
  const name = `[${"a".repeat(1_000_000)}[`;
  const { field, message } = new FieldViolation("", "is wrong").within(name).within("books");
  expect(field).toMatch(/^books\[a+…a+\[$/);
  expect(message).toMatch(/a\[ is wrong$/);
  expect(message.length).toBeLessThan(220);
});

describe("the error of violations", () => {
  test("names a hundred of them, and how many more there are", () => {
    const many = Array.from({ length: 1000 }, (_, i) => new FieldViolation(`a[${i}]`, "is wrong"));
    const error = badRequest(many);
    expect(error.rawMessage).toMatch(/^a\[0\] is wrong; .*; a\[99\] is wrong; and 900 more$/);
    expect(error.findDetails(BadRequestSchema)[0]?.fieldViolations).toHaveLength(100);
  });

  test("fits into the trailers of gRPC, however many and long they are", async () => {
    const many = Array(5000).fill(new FieldViolation("b".repeat(300), "c".repeat(300)));
    await using gateway = await openShelves({ getVolume: () => Promise.reject(badRequest(many)) });
    using caller = grpcProtocol.open(CatalogService, gateway.origin("2"));
    const error = ConnectError.from(await caller.client.getVolume({}).catch((error) => error));
    expect(error).toMatchObject({ code: Code.InvalidArgument });
    expect(error.findDetails(BadRequestSchema)[0]?.fieldViolations).toHaveLength(100);
  });
});
