import { createPublicKey, type KeyObject } from "node:crypto";

/**
 * The accepted signature algorithms (RFC 7518, section 3.1; RFC 8037; RFC 9864): all that are
 * asymmetric and widely used. No HS*: its verifiers can also sign, and a public key must never be
 * used as a shared secret. No `none`.
 */
export const signatureAlgorithms: readonly string[] = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/** A member of a key set, as far as it is looked at here. */
interface Member {
  readonly kid?: unknown;
  readonly use?: unknown;
  readonly alg?: unknown;
}

/**
 * The members of a key set (RFC 7517, section 5) that jose can be given to verify signatures. It
 * selects the key for a token, and ignores those for other purposes. It fails for keys that cannot
 * be parsed, and takes RSA keys that anybody can sign with: neither gets there.
 *
 * @param onRefused Called with the reason, in one line, if an RSA key that is meant for verifying
 * is rejected. Its tokens will be rejected as well.
 */
export function findUsableKeys(
  members: readonly unknown[],
  onRefused: (problem: string) => void,
): unknown[] {
  return members.filter((member) => {
    if (!isMember(member) || !isForVerifying(member)) return false;
    const key = parsePublicKey(member);
    const problem = key && findRsaProblem(key);
    if (problem !== undefined) onRefused(`${nameOf(member)} ${problem}`);
    return key !== undefined && problem === undefined;
  });
}

/** A published private key (`d`) is known to everybody: nothing it signed can be trusted. */
function isMember(member: unknown): member is Member {
  return typeof member === "object" && member !== null && !("d" in member);
}

function isForVerifying({ use = "sig", alg }: Member): boolean {
  return use === "sig" && (alg === undefined || signatureAlgorithms.includes(String(alg)));
}

function parsePublicKey(jwk: object): KeyObject | undefined {
  try {
    return createPublicKey({ key: { ...jwk }, format: "jwk" });
  } catch {
    return undefined;
  }
}

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

function nameOf({ kid }: Member): string {
  if (kid === undefined) return "an RSA key without kid";
  return `the RSA key ${JSON.stringify(String(kid).slice(0, kidCharactersMax))}`;
}
