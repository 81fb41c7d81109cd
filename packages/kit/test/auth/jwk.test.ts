import { generateKeyPairSync } from "node:crypto";
import type { JWK } from "jose";
import { expect, test } from "vitest";
import { findUsableKeys } from "../../src/auth/jwks.ts";

const ignore = () => {};

const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
const rsa = pair.publicKey.export({ format: "jwk" }) as JWK;

test.each([
  ["of a SPIFFE bundle", { use: "jwt-svid" }],
  ["for more operations", { key_ops: ["sign", "verify", "wrapKey"], ext: "true" }],
  ["with nulls", { use: null, alg: null, key_ops: null }],
])("a key %s is kept, in the form that jose takes", (_what, members) => {
  expect(findUsableKeys([{ ...rsa, ...members }], ignore)).toEqual([rsa]);
});

test.each<[what: string, member: unknown]>([
  ["null", null],
  ["a symmetric key", { kty: "oct", k: "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0" }],
  ["a private RSA key", pair.privateKey.export({ format: "jwk" })],
  ["alg HS256 on a public key", { ...rsa, alg: "HS256" }],
  ["use enc, and weak", { ...rsa, use: "enc", e: "AQ" }],
  ["another alg", { ...rsa, alg: "RSA-OAEP" }],
  ["other operations", { ...rsa, key_ops: ["sign"] }],
  ["no modulus", { ...rsa, n: undefined }],
  ["a point off its curve", { kty: "EC", crv: "P-256", x: "AA".repeat(16), y: "AA".repeat(16) }],
])("ignored without a report: %s", (_what, member) => {
  expect(findUsableKeys([member, rsa], (problem: string) => expect.fail(problem))).toHaveLength(1);
});

test.each(["Aw", "Iw", "AQAB"])("an exponent of %s is accepted", (e) => {
  expect(findUsableKeys([{ ...rsa, e }], ignore)).toHaveLength(1);
});

const weak: readonly [what: string, jwk: object, problem: string][] = [
  // A signature is then the padded digest itself, which anybody can compute.
  ["an exponent of 1", { ...rsa, e: "AQ", kid: "a" }, 'the RSA key "a" has the exponent 1'],
  ["an even exponent", { ...rsa, e: "BA", kid: "a" }, 'the RSA key "a" has the exponent 4'],
  ["small", { ...rsa, n: halved(rsa) }, "an RSA key without kid has 2047 bits, not 2048 to 8192"],
  [
    "8200 bits",
    { ...rsa, n: Buffer.alloc(1025, 0xff).toString("base64url") },
    "an RSA key without kid has 8200 bits, not 2048 to 8192",
  ],
  [
    "a long kid like an attack",
    { ...rsa, e: "AQ", kid: `\n\u001b[2J${"k".repeat(1000)}` },
    String.raw`the RSA key "\n\u001b[2J${"k".repeat(59)}" has the exponent 1`,
  ],
];
test.each(weak)("an RSA key of %s is rejected and reported", (_what, jwk, problem) => {
  const problems: string[] = [];
  expect(findUsableKeys([jwk, rsa], (told) => problems.push(told))).toHaveLength(1);
  expect(problems).toEqual([problem]);
});

/** The modulus, one bit shorter. */
function halved({ n = "" }: JWK): string {
  const bytes = Buffer.from(n, "base64url");
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString("base64url");
}
