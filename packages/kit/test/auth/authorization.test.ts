import { expect, test } from "vitest";
import { isBearerToken, parseAuthorization } from "../../src/auth/bearer.ts";

const accepted: readonly [header: string, token: string][] = [
  ["Bearer abc", "abc"],
  ["bearer abc", "abc"],
  ["bEaReR abc", "abc"],
  ["Bearer  abc", "abc"],
  ["Bearer abc====", "abc===="],
  ["Bearer AZaz09-._~+/", "AZaz09-._~+/"],
  ["Bearer aaa.bbb.ccc", "aaa.bbb.ccc"],
  ["Bearer Bearer", "Bearer"],
];

test.each(accepted)("%s contains a token", (header, token) => {
  expect(parseAuthorization(header)).toEqual({ token });
});

const refused: readonly [header: string | null, problem: string][] = [
  [null, "missing"],
  ["", "missing"],
  ["Basic YWxhZGRpbjpvcGVuc2VzYW1l", "missing"],
  ["Bearerabc", "missing"],
  ["Bearers abc", "missing"],
  [" Bearer abc", "missing"],
  ["Bearer", "empty"],
  ["Bearer    ", "empty"],
  ["Bearer ! bearer", "malformed"],
  ["Bearer\tabc", "malformed"],
  ["Bearer\u00a0abc", "malformed"],
  ["Bearer abc ", "malformed"],
  ["Bearer abc\n", "malformed"],
  ["Bearer abc def", "malformed"],
  ["Bearer abc,Bearer def", "malformed"],
  ["Bearer =abc", "malformed"],
  ["Bearer a=b", "malformed"],
  ['Bearer "abc"', "malformed"],
  ["Bearer token=abc", "malformed"],
  ["Bearer äbc", "malformed"],
  ["Bearer abc\u212a", "malformed"],
  ["Bearer=abc", "malformed"],
];

test.each(refused)("%j contains none", (header, problem) => {
  expect(parseAuthorization(header)).toEqual({ problem });
});

test.each([
  [" ", "empty"],
  ["=", "malformed"],
  ["x ", "malformed"],
  ["x=", "malformed"],
])("a header with a million times %j takes no time", (text, problem) => {
  expect(parseAuthorization(`Bearer ${text.repeat(1_000_000)}`)).toEqual({ problem });
});

test.each(["", " ", "a b", "a\nb", "a,b", "=", "ä", '"'])("%j is not a bearer token", (text) => {
  expect(isBearerToken(text)).toBe(false);
});
