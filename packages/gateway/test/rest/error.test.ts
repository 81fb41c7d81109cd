import { create, type DescMessage } from "@bufbuild/protobuf";
import {
  anyPack,
  DurationSchema,
  Int64ValueSchema,
  StringValueSchema,
  StructSchema,
} from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { BadRequestSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { RestFailure, renderStatus, restErrorFrom } from "../../src/errors/http-error.ts";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";
import { BookSchema } from "../gen/library/v1/library_pb.ts";
import { codeStatuses } from "../support/code-statuses.ts";

describe("a code has its status in google.rpc.Code:", () => {
  test("every code is in the table", () => {
    const codes = Object.values(Code).filter((code) => typeof code === "number");
    expect(codeStatuses.map(([code]) => code)).toEqual(codes);
  });

  test.each(codeStatuses)("%s: %s", (code, status) => {
    const error = new ConnectError("why", code);
    expect(restErrorFrom(error)).toMatchObject({ status, error });
    expect(renderStatus(restErrorFrom(error))).toEqual({
      status,
      body: { code, message: "why", details: [] },
    });
  });
});

describe("an error not meant for callers is an internal error:", () => {
  const rows: readonly [what: string, reason: unknown][] = [
    ["an Error", new Error("secret")],
    ["an error of the system", Object.assign(new Error("secret"), { code: "ENOENT" })],
    ["an error with a cause", new Error("secret", { cause: new ConnectError("secret") })],
    ["an AbortError", new DOMException("secret", "AbortError")],
    ["a string", "secret"],
    ["null", null],
    ["undefined", undefined],
    ["an object that looks like an error", { status: 200, error: "secret" }],
    ["a number", 200],
  ];

  test.each(rows)("%s", (_what, reason) => {
    const error = restErrorFrom(reason);
    expect(renderStatus(error)).toEqual({
      status: 500,
      body: { code: Code.Internal, message: "internal error", details: [] },
    });
    expect(error.error.cause).toBe(reason);
    expect([...error.error.metadata]).toEqual([]);
  });
});

test("an HTTP failure keeps its own status", () => {
  const failure = new RestFailure(405, Code.Unimplemented, "not so", { allow: "GET" });
  expect(restErrorFrom(failure)).toMatchObject({ status: 405, error: failure });
  expect(renderStatus(restErrorFrom(failure))).toEqual({
    status: 405,
    body: { code: Code.Unimplemented, message: "not so", details: [] },
  });
  expect(failure.header).toEqual({ allow: "GET" });
});

describe("a detail is an Any in JSON:", () => {
  const rows: readonly [
    what: string,
    desc: DescMessage,
    value: Record<string, unknown>,
    json: object,
  ][] = [
    [
      "a BadRequest",
      BadRequestSchema,
      { fieldViolations: [{ field: "book.id", description: "is required" }] },
      {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        fieldViolations: [{ field: "book.id", description: "is required" }],
      },
    ],
    [
      "a RetryInfo",
      RetryInfoSchema,
      { retryDelay: { seconds: 1n, nanos: 500_000_000 } },
      { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1.500s" },
    ],
    [
      "a message of the application's own",
      BookSchema,
      { id: 9007199254740993n, title: "t" },
      { "@type": "type.googleapis.com/library.v1.Book", id: "9007199254740993", title: "t" },
    ],
    ["an empty message", BookSchema, {}, { "@type": "type.googleapis.com/library.v1.Book" }],
    // Types with their own JSON form are under "value" in an Any.
    [
      "a Duration",
      DurationSchema,
      { seconds: 3n },
      { "@type": "type.googleapis.com/google.protobuf.Duration", value: "3s" },
    ],
    [
      "a StringValue",
      StringValueSchema,
      { value: "text" },
      { "@type": "type.googleapis.com/google.protobuf.StringValue", value: "text" },
    ],
    [
      "an Int64Value",
      Int64ValueSchema,
      { value: 1n },
      { "@type": "type.googleapis.com/google.protobuf.Int64Value", value: "1" },
    ],
    [
      "a Struct",
      StructSchema,
      { fields: { a: { kind: { case: "boolValue", value: true } } } },
      { "@type": "type.googleapis.com/google.protobuf.Struct", value: { a: true } },
    ],
  ];

  test.each(rows)("%s", (_what, desc, value, json) => {
    const error = new ConnectError("why", Code.Aborted, undefined, [{ desc, value }]);
    expect(renderStatus(restErrorFrom(error)).body).toEqual({
      code: Code.Aborted,
      message: "why",
      details: [json],
    });
  });

  test("a message, and not an init object", () => {
    const value = create(BookSchema, { title: "t" });
    const error = new ConnectError("why", Code.Aborted, undefined, [{ desc: BookSchema, value }]);
    expect(renderStatus(restErrorFrom(error)).body).toMatchObject({ details: [{ title: "t" }] });
  });

  test("several, in their order", () => {
    const error = new ConnectError("why", Code.Aborted, undefined, [
      { desc: BookSchema, value: { title: "1" } },
      { desc: RetryInfoSchema, value: {} },
      { desc: BookSchema, value: { title: "3" } },
    ]);
    const retryInfo = "type.googleapis.com/google.rpc.RetryInfo";
    expect(renderStatus(restErrorFrom(error)).body).toMatchObject({
      details: [{ title: "1" }, { "@type": retryInfo }, { title: "3" }],
    });
  });

  test("one that cannot be written in JSON does not suppress the error", () => {
    const unknown = anyPack(BookSchema, create(BookSchema, { title: "t" }));
    const error = new ConnectError("why", Code.Aborted, undefined, [
      { desc: EveryFieldSchema, value: { any: unknown } },
    ]);
    expect(renderStatus(restErrorFrom(error))).toMatchObject({
      status: 409,
      body: { code: Code.Aborted, message: "why" },
    });
  });
});
