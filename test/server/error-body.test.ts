import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { errorBody, renderPlantError } from "../../src/server/error-body.ts";

const messageOf = (message: string) =>
  (errorBody(Code.InvalidArgument, message) as { message: string }).message;

test.each([
  ["x".repeat(256), "x".repeat(256)],
  ["x".repeat(257), `${"x".repeat(255)}…`],
  ["a\0b\nc\u001b[31md\u007fe\u0085f", "a b c [31md e f"],
  ["a\ud800b", "a\ufffdb"],
])("the message %j is shown as %j", (message, shown) => {
  expect(errorBody(Code.NotFound, message)).toEqual({ error: 5, message: shown });
});

test.each([254, 255, 256])("a message never has half of a character: at %i", (length) => {
  const message = messageOf(`${"x".repeat(length)}${"🌱".repeat(10)}`);
  expect(message.isWellFormed()).toBe(true);
  expect(message.length).toBeLessThanOrEqual(256);
  expect(message.endsWith("…")).toBe(true);
});

test.each([
  [Code.AlreadyExists, 409, 400],
  [Code.InvalidArgument, 400, 400],
  [Code.ResourceExhausted, 413, 413],
])("the status of code %i, which HTTP calls %i, is %i", (code, status, expected) => {
  const error = new ConnectError("no", code);
  const body = { error: code, message: "no" };
  expect(renderPlantError({ status, error, details: () => [] })).toEqual({
    status: expected,
    body,
  });
});
