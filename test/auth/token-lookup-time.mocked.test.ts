/** Timing must not reveal how much of a guess was right: no comparison of secrets ends early. */
import { expect, test, vi } from "vitest";

const compared = vi.hoisted((): number[] => []);
vi.mock("node:crypto", async (importOriginal) => {
  const crypto = await importOriginal<typeof import("node:crypto")>();
  const timingSafeEqual = (a: Buffer, b: Buffer): boolean => {
    compared.push(a.length, b.length);
    return crypto.timingSafeEqual(a, b);
  };
  return { ...crypto, timingSafeEqual };
});

const { digestToken, mintToken } = await import("../../src/auth/token.ts");
const { createTokenLookup } = await import("../../src/auth/token-lookup.ts");

test("a token is compared completely with each that shares its first byte, found or not", () => {
  const token = mintToken();
  const digest = digestToken(token);
  const digests = [0, 8, 16, 24].map((at) => {
    const near = Buffer.from(digest);
    near.writeUInt32BE(~near.readUInt32BE(at) >>> 0, at);
    near.writeUInt8(digest.readUInt8());
    return near;
  });
  const all = digests.flatMap(() => [32, 32]);
  const entries = digests.map((digest) => ({ digest, principal: { kind: "token", name: "n" } }));
  expect(createTokenLookup(entries as never)(token)).toBeUndefined();
  expect(compared.splice(0)).toEqual(all);

  for (const right of digests.keys()) {
    const found = entries.map((entry, at) => (at === right ? { ...entry, digest } : entry));
    expect(createTokenLookup(found as never)(token)).toEqual({ kind: "token", name: "n" });
    expect(compared.splice(0)).toEqual(all);
  }
});

test("a token that shares its first byte with none is compared with none", () => {
  expect(createTokenLookup([])(mintToken())).toBeUndefined();
  expect(compared.splice(0)).toEqual([]);
});
