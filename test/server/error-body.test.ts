import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { errorBody } from "../../src/server/error-body.ts";

test.each([
  ["x".repeat(256), "x".repeat(256)],
  ["x".repeat(257), `${"x".repeat(255)}…`],
  // Never half of a character.
  [`${"x".repeat(254)}${"🌱".repeat(10)}`, `${"x".repeat(254)}…`],
  ["a\ud800b\r\n\u0085c", "a\ufffdb   c"],
])("the message %j is shown as %j", (message, shown) => {
  expect(errorBody(Code.NotFound, message)).toEqual({ error: 5, message: shown });
});
