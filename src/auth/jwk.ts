import { createPublicKey } from "node:crypto";
import type { JWK } from "jose";

/**
 * The signatures that are accepted (RFC 7518, section 3.1; RFC 8037; RFC 9864):
 * all that are asymmetric and widely used. No HS*: who can verify one can sign
 * one, and a public key must never be taken for a shared secret. No `none`.
 */
export const signatureAlgorithms: readonly string[] = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

/**
 * Parses the members of a key set (RFC 7517, section 5) to those that can verify
 * such a signature, and leaves out the others: symmetric and private keys, keys
 * for encryption, unknown types and curves, RSA keys of a size that is too weak
 * or too slow. Of each, only what verifying needs is kept.
 */
export function parseVerificationKeys(members: readonly unknown[]): JWK[] {
  return members.map(parseVerificationKey).filter((key) => key !== undefined);
}

function parseVerificationKey(member: unknown): JWK | undefined {
  if (!isJwk(member) || !isForVerifying(member)) return undefined;
  const parameters = parsePublicParameters(member);
  if (parameters === undefined) return undefined;
  const { kid, alg } = member;
  return { ...parameters, ...(kid !== undefined && { kid }), ...(alg !== undefined && { alg }) };
}

function isJwk(member: unknown): member is JWK {
  return typeof member === "object" && member !== null && !Array.isArray(member);
}

function isForVerifying({ kid, alg, use, key_ops: operations, d }: JWK): boolean {
  return (
    // A private key in public is a known one: nothing that it signed can be trusted.
    d === undefined &&
    (kid === undefined || typeof kid === "string") &&
    (alg === undefined || signatureAlgorithms.includes(alg)) &&
    (use === undefined || use === "sig") &&
    (operations === undefined || (Array.isArray(operations) && operations.includes("verify")))
  );
}

function parsePublicParameters(jwk: JWK): JWK | undefined {
  try {
    const key = createPublicKey({ key: { ...jwk }, format: "jwk" });
    const { modulusLength, namedCurve } = key.asymmetricKeyDetails ?? {};
    const usable =
      (modulusLength !== undefined && modulusLength >= 2048 && modulusLength <= 8192) ||
      (namedCurve !== undefined && curves.includes(namedCurve)) ||
      key.asymmetricKeyType === "ed25519";
    return usable ? key.export({ format: "jwk" }) : undefined;
  } catch {
    return undefined;
  }
}

/** P-256, P-384 and P-521, as OpenSSL calls them. */
const curves: readonly string[] = ["prime256v1", "secp384r1", "secp521r1"];
