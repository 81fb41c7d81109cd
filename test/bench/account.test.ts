import { expect, test } from "vitest";
import { assertStored } from "../../bench/account.ts";

test.each([
  { stored: 100, acknowledged: 100, unanswered: 0 },
  { stored: 100, acknowledged: 100, unanswered: 8 },
  { stored: 108, acknowledged: 100, unanswered: 8 },
])("%j is right", ({ stored, ...account }) => {
  assertStored(stored, account);
});

test.each([
  { stored: 99, acknowledged: 100, unanswered: 0 },
  { stored: 101, acknowledged: 100, unanswered: 0 },
  { stored: 99, acknowledged: 100, unanswered: 8 },
  { stored: 109, acknowledged: 100, unanswered: 8 },
])("%j fails the run", ({ stored, ...account }) => {
  expect(() => assertStored(stored, account)).toThrow(`${stored} plants are stored`);
});
