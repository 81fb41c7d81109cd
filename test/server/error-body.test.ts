import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { errorBody, renderPlantError } from "../../src/server/error-body.ts";

function messageOf(message: string): string {
  const body = errorBody(Code.InvalidArgument, message) as { message: string };
  return body.message;
}

describe("the body of an error", () => {
  test("has the number of the code and the message", () => {
    expect(errorBody(Code.NotFound, "gone")).toEqual({ error: 5, message: "gone" });
  });

  test("has a message even when there is none", () => {
    expect(errorBody(Code.Unknown, "")).toEqual({ error: 2, message: "" });
  });

  test("shows 256 characters as they are, and no more", () => {
    expect(messageOf("x".repeat(256))).toBe("x".repeat(256));
    expect(messageOf("x".repeat(257))).toBe(`${"x".repeat(255)}…`);
  });

  test.each([254, 255, 256])("never cuts a character in two: at %i", (length) => {
    const message = messageOf(`${"x".repeat(length)}${"🌱".repeat(10)}`);
    expect(message.isWellFormed()).toBe(true);
    expect(message.length).toBeLessThanOrEqual(256);
    expect(message.endsWith("…")).toBe(true);
  });

  test("has a space for every control character", () => {
    expect(messageOf("a\0b\nc\u001b[31md\u007fe\u0085f")).toBe("a b c [31md e f");
  });

  test("holds well-formed text, whatever it is made of", () => {
    expect(messageOf("a\ud800b").isWellFormed()).toBe(true);
  });
});

describe("the status of an error", () => {
  test.each([
    [Code.AlreadyExists, 409, 400],
    [Code.InvalidArgument, 400, 400],
    [Code.Unauthenticated, 401, 401],
    [Code.Unavailable, 503, 503],
    [Code.ResourceExhausted, 413, 413],
    [Code.Internal, 500, 500],
  ])("of code %i, which HTTP calls %i, is %i", (code, status, expected) => {
    const error = new ConnectError("no", code);
    expect(renderPlantError({ status, error })).toEqual({
      status: expected,
      body: { error: code, message: "no" },
    });
  });
});
