import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { connectErrorFrom, endingError } from "../../src/errors/errors.ts";

const meant = new ConnectError("no", Code.NotFound);
const thrown = new Error("secret");

describe("the error that ends a call", () => {
  const open = { aborted: false, reason: undefined };
  const gone = { aborted: true, reason: new ConnectError("late", Code.DeadlineExceeded) };
  const left = { aborted: true, reason: new DOMException("left", "AbortError") };
  test.each([
    ["meant for the client", meant, open, meant, []],
    ["meant for the client, once the call is given up", meant, gone, meant, []],
    ["of which somebody is told", thrown, open, thrown, [thrown]],
    ["the reason for which the call is given up", thrown, gone, gone.reason, []],
    ["its own, if that reason is for nobody", thrown, left, thrown, []],
  ])("is %s", (_what, error, cancellation, ending, told) => {
    const heard: unknown[] = [];
    const onError = (one: unknown) => heard.push(one);
    expect(endingError(error, { onError }, cancellation)).toBe(ending);
    expect(endingError(error, {}, cancellation)).toBe(ending);
    expect(heard).toEqual(told);
  });
});

test.each([thrown, undefined, "secret"])("%o leaves as an internal error", (reason) => {
  expect(connectErrorFrom(reason)).toMatchObject({
    code: Code.Internal,
    rawMessage: "internal error",
    cause: reason,
  });
});

test("an error for the client is not changed", () => {
  expect(connectErrorFrom(meant)).toBe(meant);
});
