import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { connectErrorFrom, endingError, withTrailerMessage } from "../../src/errors/errors.ts";

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

/** With everything that another message must keep. */
function errorOf(message: string): ConnectError {
  const details = [{ desc: BadRequestSchema, value: {} }];
  const error = new ConnectError(message, Code.Aborted, { "x-kept": "yes" }, details, thrown);
  return Object.assign(error, { isWireError: true });
}

function expectMessage(error: ConnectError, message: string): void {
  expect(error).toMatchObject({
    rawMessage: message,
    code: Code.Aborted,
    cause: thrown,
    isWireError: true,
  });
  expect(error.metadata.get("x-kept")).toBe("yes");
  expect(error.findDetails(BadRequestSchema)).toHaveLength(1);
}

test("a lone surrogate in a message is replaced", () => {
  expectMessage(connectErrorFrom(errorOf("a\ud800b")), "a\ufffdb");
});

test.each([
  ["one that certainly fits", "é".repeat(455), "é".repeat(455)],
  ["one of as many bytes as there is room for", "x".repeat(4096), "x".repeat(4096)],
  ["one with a byte too many", "x".repeat(4097), `${"x".repeat(4096)}…`],
  ["one that just fits", "é".repeat(682), "é".repeat(682)],
  ["one that does not", "é".repeat(683), `${"é".repeat(682)}…`],
  ["one of two code units a character", "🌱".repeat(342), `${"🌱".repeat(341)}…`],
])("trailers have room for %s", (_what, message, arrived) => {
  expectMessage(withTrailerMessage(errorOf(message)), arrived);
});
