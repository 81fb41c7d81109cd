import { expect, test } from "vitest";
import { findRepeatedField } from "../../src/http/request-exchange.ts";

test.each([
  [[], undefined],
  [["content-type", "a", "authorization", "b"], undefined],
  [["x-a", "1", "x-a", "2", "content-typo", "a", "content-typo", "b"], undefined],
  // A value that is a name is none.
  [["x-a", "content-type", "content-type", "a"], undefined],
  [["authorisation", "a", "authorization", "a"], undefined],
  [["content-type", "a", "Content-Type", "a"], "Content-Type"],
  [["CONTENT-TYPE", "a", "content-type", "a"], "Content-Type"],
  [["Authorization", "a", "authorization", "b"], "Authorization"],
])("of %j, %s is repeated", (rawHeaders, repeated) => {
  expect(findRepeatedField(rawHeaders)).toBe(repeated);
});
