import { expect, test } from "vitest";
import { isBearerToken, parseAuthorization } from "../../src/auth/bearer.ts";

const accepted: readonly [header: string, token: string][] = [
  ["Bearer abc", "abc"],
  ["bearer abc", "abc"],
  ["BEARER abc", "abc"],
  ["bEaReR abc", "abc"],
  ["Bearer  abc", "abc"],
  ["Bearer     abc", "abc"],
  ["Bearer a", "a"],
  ["Bearer abc=", "abc="],
  ["Bearer abc====", "abc===="],
  ["Bearer AZaz09-._~+/", "AZaz09-._~+/"],
  ["Bearer aaa.bbb.ccc", "aaa.bbb.ccc"],
  ["Bearer Bearer", "Bearer"],
];

test.each(accepted)("%s contains a token", (header, token) => {
  expect(parseAuthorization(header)).toEqual({ kind: "bearer", token });
});

const refused: readonly [header: string | null, kind: string][] = [
  [null, "absent"],
  ["", "absent"],
  ["Basic YWxhZGRpbjpvcGVuc2VzYW1l", "other_scheme"],
  ["Digest username=a", "other_scheme"],
  ["abc", "other_scheme"],
  ["Bearerabc", "other_scheme"],
  ["Bearer-abc def", "other_scheme"],
  ["Bearers abc", "other_scheme"],
  ["plst_0123456789", "other_scheme"],
  [" Bearer abc", "other_scheme"],
  ["Basic Bearer abc", "other_scheme"],
  ["Bearer", "empty"],
  ["bearer ", "empty"],
  ["Bearer    ", "empty"],
  ["Bearer ! bearer", "malformed"],
  ["Bearer\tabc", "malformed"],
  ["Bearer \tabc", "malformed"],
  ["Bearer\u00a0abc", "malformed"],
  ["Bearer abc ", "malformed"],
  ["Bearer abc\n", "malformed"],
  ["Bearer abc\r\nX: y", "malformed"],
  ["Bearer abc def", "malformed"],
  ["Bearer abc,Bearer def", "malformed"],
  ["Bearer abc, Bearer def", "malformed"],
  ["Bearer abc,", "malformed"],
  ["Bearer ,abc", "malformed"],
  ["Bearer =", "malformed"],
  ["Bearer =abc", "malformed"],
  ["Bearer a=b", "malformed"],
  ['Bearer "abc"', "malformed"],
  ["Bearer token=abc", "malformed"],
  ["Bearer abc;q=1", "malformed"],
  ["Bearer ab\0c", "malformed"],
  ["Bearer äbc", "malformed"],
  ["Bearer abc%20", "malformed"],
  ["Bearer abc\u212a", "malformed"],
  ["Bearer: abc", "malformed"],
  ["Bearer=abc", "malformed"],
];

test.each(refused)("%j contains none", (header, kind) => {
  expect(parseAuthorization(header)).toEqual({ kind });
});

test.each([8192, 8193, 1_000_000])("a token of %i characters is accepted", (length) => {
  const token = "x".repeat(length);
  expect(parseAuthorization(`Bearer ${token}`)).toEqual({ kind: "bearer", token });
});

test.each([
  [" ", "empty"],
  ["=", "malformed"],
  ["x ", "malformed"],
  ["x=", "malformed"],
])("a header with a million times %j takes no time", (text, kind) => {
  expect(parseAuthorization(`Bearer ${text.repeat(1_000_000)}`)).toEqual({ kind });
});

test.each(["", " ", "a b", "a\nb", "a,b", "=", "ä", '"'])("%j is not a bearer token", (text) => {
  expect(isBearerToken(text)).toBe(false);
});
