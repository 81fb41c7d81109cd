import { expect, test } from "vitest";
import { describeError } from "../../src/logging/log-failures.ts";

test("what hangs on an error stays there: it may be what a client sent", () => {
  const error = Object.assign(new TypeError("no"), { code: "23505", detail: "Key (id)=(1)", n: 1 });
  expect(describeError(error)).toEqual({
    type: "TypeError",
    message: "no",
    code: "23505",
    stack: error.stack,
  });
});

test("a code that is no text is none", () => {
  expect(describeError(Object.assign(new Error("no"), { code: 6 })).code).toBeUndefined();
});

test("causes are told, each with its stack", () => {
  const inner = new Error("inner");
  const outer = new Error("outer", { cause: inner });
  expect(describeError(outer).stack).toBe(`${outer.stack}\ncaused by: ${inner.stack}`);
});

test("causes that go round come to an end", () => {
  const error = new Error("round");
  error.cause = error;
  expect(describeError(error).stack.split("caused by: ")).toHaveLength(8);
});
