/** What the access log takes from the headers of a request. */
import { createContextValues } from "@connectrpc/connect";
import { expect, test, vi } from "vitest";
import { createAccessLog, requestIdOf, traceIdOf } from "../../src/logging/access-log.ts";

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

test.each([
  ["7f3a", true],
  ["a.b_c-d~e:f+g/h=i@j", true],
  ["x".repeat(128), true],
  ["x".repeat(129), false],
  ["", false],
  ["a b", false],
  ['a"b', false],
  ["a\u0000", false],
])("the request id %j: kept is %s", (given, isKept) => {
  const id = requestIdOf({ "x-request-id": given });
  if (isKept) expect(id).toBe(given);
  else expect(id).toMatch(uuid);
});

test("a request without one gets one of its own", () => {
  const [one, other] = [requestIdOf({}), requestIdOf({})];
  expect(one).toMatch(uuid);
  expect(one).not.toBe(other);
});

const trace = "0af7651916cd43dd8448eb211c80319c";
const parent = "b7ad6b7169203331";

test.each([
  [`00-${trace}-${parent}-01`, true],
  [`00-${trace}-${parent}-00`, true],
  [`cc-${trace}-${parent}-01`, true],
  [`cc-${trace}-${parent}-01-of-later`, true],
  [`00-${trace}-${parent}-01-of-later`, false],
  [`ff-${trace}-${parent}-01`, false],
  [`00-${"0".repeat(32)}-${parent}-01`, false],
  [`00-${trace}-${"0".repeat(16)}-01`, false],
  [`00-${trace.toUpperCase()}-${parent}-01`, false],
  [`00-${trace}-${parent}`, false],
  [`00-${trace}-${parent}-01\n`, false],
  [` 00-${trace}-${parent}-01`, false],
  ["", false],
  [undefined, false],
])("the traceparent %j: has a trace is %s", (traceparent, isTraced) => {
  expect(traceIdOf(traceparent)).toBe(isTraced ? trace : undefined);
});

// Strangers choose the one, issuers of JWTs the other.
test.each([
  ["/a?b", "/a"],
  [`/${"a".repeat(999)}`, `/${"a".repeat(199)}`],
])("target and caller are cut, and a query left out: %s", (target, path) => {
  const write = vi.fn();
  const log = createAccessLog({ write, isErrorsOnly: false, findPrincipal: () => "a".repeat(999) });
  const request = { headers: {}, requestMethod: "M".repeat(99), target, peerAddress() {} };
  const observation = log.begin(request as never);
  observation?.calling?.(createContextValues());
  observation?.end({ code: undefined, error: undefined, status: 200 });
  const cut = { principal: "a".repeat(128), requestMethod: "M".repeat(32), path };
  expect(write.mock.lastCall).toMatchObject([cut]);
});
