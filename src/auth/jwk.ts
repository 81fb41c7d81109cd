import { createPublicKey, type KeyObject } from "node:crypto";
import type { JWK } from "jose";

/**
 * The accepted signature algorithms (RFC 7518, section 3.1; RFC 8037; RFC 9864): all that are
 * asymmetric and widely used. No HS*: its verifiers can also sign, and a public key must never be
 * used as a shared secret. No `none`.
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
 * Parses the members of a key set (RFC 7517, section 5) and returns the keys that can verify such a
 * signature. Ignores the others: symmetric and private keys, keys for encryption, unknown types and
 * curves, RSA keys that are weak or too slow. Keeps only what verifying needs.
 *
 * @param onRefused Called with the reason, in one line, if an RSA key that is meant for verifying
 * is rejected. Its tokens will be rejected as well.
 */
export function parseVerificationKeys(
  members: readonly unknown[],
  onRefused: (problem: string) => void,
): JWK[] {
  return members
    .map((member) => parseVerificationKey(member, onRefused))
    .filter((key) => key !== undefined);
}

function parseVerificationKey(
  member: unknown,
  onRefused: (problem: string) => void,
): JWK | undefined {
  if (!isJwk(member) || !isForVerifying(member)) return undefined;
  const key = parsePublicKey(member);
  const problem = key && findRsaProblem(key);
  if (problem !== undefined) onRefused(`${nameOf(member)} ${problem}`);
  if (key === undefined || problem !== undefined || !isKnownType(key)) return undefined;
  const parameters = key.export({ format: "jwk" });
  const { kid, alg } = member;
  return { ...parameters, ...(kid !== undefined && { kid }), ...(alg !== undefined && { alg }) };
}

function isJwk(member: unknown): member is JWK {
  return typeof member === "object" && member !== null && !Array.isArray(member);
}

function isForVerifying({ kid, alg, use, key_ops: operations, d }: JWK): boolean {
  return (
    // A published private key is known to everybody, so nothing it signed can be trusted.
    d === undefined &&
    (kid === undefined || typeof kid === "string") &&
    (alg === undefined || signatureAlgorithms.includes(alg)) &&
    (use === undefined || use === "sig") &&
    (operations === undefined || (Array.isArray(operations) && operations.includes("verify")))
  );
}

function parsePublicKey(jwk: JWK): KeyObject | undefined {
  try {
    return createPublicKey({ key: { ...jwk }, format: "jwk" });
  } catch {
    return undefined;
  }
}

function isKnownType({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  if (asymmetricKeyType === "rsa" || asymmetricKeyType === "ed25519") return true;
  return curves.includes(asymmetricKeyDetails?.namedCurve ?? "");
}

/** P-256, P-384 and P-521, by their OpenSSL names. */
const curves: readonly string[] = ["prime256v1", "secp384r1", "secp521r1"];

/** The minimum is from RFC 7518, section 3.3. Above the maximum, verifying takes milliseconds. */
const modulusBitsMin = 2048;
const modulusBitsMax = 8192;

/**
 * With an exponent of 1, a signature is the padded digest itself, which anybody can compute. An
 * even exponent has no inverse (RFC 8017, section 3.1).
 */
function findRsaProblem({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject) {
  if (asymmetricKeyType !== "rsa") return undefined;
  const { modulusLength: bits = 0, publicExponent: exponent = 0n } = asymmetricKeyDetails ?? {};
  if (bits < modulusBitsMin || bits > modulusBitsMax) {
    return `has ${bits} bits, not ${modulusBitsMin} to ${modulusBitsMax}`;
  }
  const isSound = exponent >= 3n && exponent % 2n === 1n;
  return isSound ? undefined : `has the exponent ${exponent}`;
}

/** How much of an issuer's name for a key is shown in a message. */
const kidCharactersMax = 64;

function nameOf({ kid }: JWK): string {
  if (kid === undefined) return "an RSA key without kid";
  return `the RSA key ${JSON.stringify(kid.slice(0, kidCharactersMax))}`;
}
