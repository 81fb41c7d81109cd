import { generateKeyPairSync } from "node:crypto";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import { expect, test } from "vitest";
import { parseVerificationKeys, signatureAlgorithms } from "../../src/auth/jwk.ts";

async function publicJwk(alg: string): Promise<JWK> {
  const { publicKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(publicKey)), alg };
}

function rsaJwk(modulusLength: number): JWK {
  const { publicKey } = generateKeyPairSync("rsa", { modulusLength });
  return publicKey.export({ format: "jwk" }) as JWK;
}

test.each(signatureAlgorithms)("a key for %s is kept, with its alg and kid", async (alg) => {
  const jwk = await publicJwk(alg);
  expect(parseVerificationKeys([{ ...jwk, kid: "k" }])).toEqual([{ ...jwk, kid: "k" }]);
});

const rsa = rsaJwk(2048);
const privateRsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const privateEd25519 = generateKeyPairSync("ed25519").privateKey;

const kept: readonly [what: string, jwk: object][] = [
  ["no kid, alg or use", rsa],
  ["use sig", { ...rsa, use: "sig" }],
  ["key_ops with verify", { ...rsa, key_ops: ["verify"] }],
  ["an empty kid", { ...rsa, kid: "" }],
  ["a kid like a path", { ...rsa, kid: "../../../dev/null" }],
  [
    "members that mean nothing here",
    { ...rsa, x5u: "https://evil.example", x5c: ["AA=="], ext: 1 },
  ],
];
test.each(kept)("a key with %s is kept, as far as verifying needs it", (_what, jwk) => {
  const { n, e, kty } = rsa;
  const kid = "kid" in jwk ? { kid: jwk.kid } : {};
  expect(parseVerificationKeys([jwk])).toEqual([{ kty, n, e, ...kid }]);
});

const leftOut: readonly [what: string, member: unknown][] = [
  ["null", null],
  ["text", "key"],
  ["an array", [rsa]],
  ["no kty", { ...rsa, kty: undefined }],
  ["an unknown kty", { ...rsa, kty: "ABC" }],
  ["a symmetric key", { kty: "oct", k: "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0" }],
  ["a symmetric key for HS256", { kty: "oct", k: "c2VjcmV0", alg: "HS256" }],
  ["a private RSA key", privateRsa.export({ format: "jwk" })],
  ["a private Ed25519 key", privateEd25519.export({ format: "jwk" })],
  ["alg HS256 on a public key", { ...rsa, alg: "HS256" }],
  ["alg none", { ...rsa, alg: "none" }],
  ["an alg for encryption", { ...rsa, alg: "RSA-OAEP" }],
  ["use enc", { ...rsa, use: "enc" }],
  ["key_ops without verify", { ...rsa, key_ops: ["encrypt"] }],
  ["key_ops that are no list", { ...rsa, key_ops: "verify" }],
  ["a kid that is no text", { ...rsa, kid: 7 }],
  ["no modulus", { ...rsa, n: undefined }],
  ["a modulus that is no text", { ...rsa, n: 7 }],
  ["an RSA key of 1024 bits", rsaJwk(1024)],
  ["an RSA key of 8200 bits", { ...rsa, n: Buffer.alloc(1025, 0xff).toString("base64url") }],
  [
    "secp256k1",
    generateKeyPairSync("ec", { namedCurve: "secp256k1" }).publicKey.export({ format: "jwk" }),
  ],
  ["x25519", generateKeyPairSync("x25519").publicKey.export({ format: "jwk" })],
  ["ed448", generateKeyPairSync("ed448").publicKey.export({ format: "jwk" })],
  ["a point off its curve", { kty: "EC", crv: "P-256", x: "AA".repeat(16), y: "AA".repeat(16) }],
];
test.each(leftOut)("left out: %s", (_what, member) => {
  expect(parseVerificationKeys([member, rsa])).toHaveLength(1);
  expect(parseVerificationKeys([member])).toEqual([]);
});
