import { expect, test } from "vitest";
import type { Principal } from "../../src/auth/principal.ts";
import { digestToken, mintToken } from "../../src/auth/token.ts";
import { createTokenLookup, type TokenEntry } from "../../src/auth/token-lookup.ts";

// Far more than there are first bytes, so that many digests share theirs.
const tokens = Array.from({ length: 2000 }, mintToken);
const entries = tokens.map((token, index): TokenEntry => {
  return { digest: digestToken(token), principal: { kind: "token", name: `t${index}` } };
});
const lookup = createTokenLookup(entries);

test("every token finds its own principal", () => {
  const found = tokens.map((token) => lookup(token));
  expect(found).toEqual(entries.map(({ principal }) => principal));
});

test("no other token finds one, whatever the size of the set", () => {
  for (let n = 0; n < 2000; n++) expect(lookup(mintToken())).toBeUndefined();
  expect(createTokenLookup([])(mintToken())).toBeUndefined();
});

test("a digest that differs in any one bit is a different one", () => {
  const token = mintToken();
  const principal: Principal = { kind: "token", name: "near" };
  const near = Array.from({ length: 256 }, (_, bit): TokenEntry => {
    const digest = Buffer.from(digestToken(token));
    digest.writeUInt8(digest.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    return { digest, principal };
  });
  expect(createTokenLookup(near)(token)).toBeUndefined();
});
