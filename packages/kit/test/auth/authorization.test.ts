import { expect, test } from "vitest";
import { isBearerToken, parseAuthorization } from "../../src/auth/bearer.ts";

test.each<[header: string, token: string]>([
  ["Bearer abc", "abc"],
  ["bEaReR abc", "abc"],
  ["Bearer  abc", "abc"],
  ["Bearer abc====", "abc===="],
  ["Bearer AZaz09-._~+/", "AZaz09-._~+/"],
])("%s contains a token", (header, token) => {
  expect(parseAuthorization(header)).toEqual({ token });
});

test.each<[header: string | null, problem: string]>([
  [null, "missing"],
  ["", "missing"],
  ["Basic YWRhOmFiYw==", "missing"],
  ["Bearerabc", "missing"],
  [" Bearer abc", "missing"],
  ["Bearer", "empty"],
  ["Bearer    ", "empty"],
  ["Bearer\tabc", "malformed"],
  ["Bearer abc ", "malformed"],
  ["Bearer abc\n", "malformed"],
  ["Bearer abc,Bearer def", "malformed"],
  ["Bearer Bearer abc", "malformed"],
  ["Bearer a=b", "malformed"],
  ["Bearer äbc", "malformed"],
])("%j contains none", (header, problem) => {
  expect(parseAuthorization(header)).toEqual({ problem });
});

test.each(["=", "x ", "x="])("a header with a million times %j takes no time", (text) => {
  expect(parseAuthorization(`Bearer ${text.repeat(1e6)}`)).toEqual({ problem: "malformed" });
});

test.each(["", "a b", "=", "ä"])("%j is not a bearer token", (text) => {
  expect(isBearerToken(text)).toBe(false);
});
