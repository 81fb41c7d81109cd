import { expect, test } from "vitest";
import { requestIdOf } from "../../src/logging/access-log.ts";

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

test.each([
  ["7f3a", true],
  ["a.b_c-d~e:f+g/h=i@j", true],
  ["x".repeat(128), true],
  ["x".repeat(129), false],
  ["", false],
  ["a b", false],
  ["a,b", false],
  ['a"b', false],
  ["a\u0000", false],
  ["é", false],
  ["a\n", false],
])("%j: kept is %s", (given, isKept) => {
  const id = requestIdOf({ "x-request-id": given });
  if (isKept) expect(id).toBe(given);
  else expect(id).toMatch(uuid);
});

test("a request without one gets one of its own", () => {
  const [one, other] = [requestIdOf({}), requestIdOf({})];
  expect(one).toMatch(uuid);
  expect(one).not.toBe(other);
});
