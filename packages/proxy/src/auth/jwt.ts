import {
  errors,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from "jose";
import { type KeySet, signatureAlgorithms } from "./jwks.ts";
import {
  type RefusalReason,
  readClaims,
  unknownToken,
  type Verdict,
  type Verifier,
} from "./verifier.ts";

export interface JwtVerifierOptions {
  readonly keys: Omit<KeySet, "reload">;
  /** The exact value of `iss`. */
  readonly issuer: string;
  /** The exact value that `aud` must have or contain. */
  readonly audience: string;
  /** The clock that `exp` and `nbf` are compared with, in milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
}

/** The tolerated difference between the clocks of issuer and server. */
const clockToleranceSeconds = 30;

/**
 * Verifies JWTs (RFC 7519, with the advice of RFC 8725): signed with an asymmetric algorithm by a
 * key of the set, and with valid `exp`, `iss` and `aud`.
 *
 * A key comes only from the set: `jwk`, `jku`, `x5u` and `x5c` in a header are ignored, and `kid`
 * is only compared. Tokens with extensions (`crit`) or an unencoded payload and encrypted tokens
 * are rejected.
 */
export function createJwtVerifier(options: JwtVerifierOptions): Verifier {
  const { keys, issuer, audience, now = Date.now } = options;

  return (token) => (compactJws.test(token) ? verify(token) : unknownToken);

  async function verify(token: string): Promise<Verdict> {
    if (!(await keys.isReady())) return { kind: "unavailable" };
    const { version } = keys;
    const verdict = await verifyWithKeys(token);
    if (verdict !== unknownToken || !(await keys.hasNewerThan(version))) return verdict;
    return await verifyWithKeys(token);
  }

  async function verifyWithKeys(token: string): Promise<Verdict> {
    const checks: JWTVerifyOptions = {
      algorithms: [...signatureAlgorithms],
      issuer,
      audience,
      requiredClaims: ["exp"],
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(now()),
    };
    try {
      return await verifySignedBy(token, keys.resolve, checks);
    } catch (error) {
      if (isKeyUnknown(error)) return unknownToken;
      if (error instanceof errors.JOSEError) return { kind: "refused", reason: reasonOf(error) };
      throw error;
    }
  }
}

/** The issuer may have another key by now, also one without `kid` or with the `kid` of an old one. */
function isKeyUnknown(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWSSignatureVerificationFailed
  );
}

/** A token that fits several keys is tried with each. @throws {errors.JOSEError} if it is rejected. */
async function verifySignedBy(
  token: string,
  resolve: JWTVerifyGetKey,
  checks: JWTVerifyOptions,
): Promise<Verdict> {
  try {
    return admit(await jwtVerify(token, resolve, checks));
  } catch (several) {
    if (!(several instanceof errors.JWKSMultipleMatchingKeys)) throw several;
    for await (const key of several) {
      try {
        return admit(await jwtVerify(token, key, checks));
      } catch (error) {
        if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
      }
    }
    return unknownToken;
  }
}

/** Checks what jose does not: the types of the token, and of `sub` (RFC 7519, section 4.1.2). */
function admit({ protectedHeader: { typ }, payload: { sub } }: JWTVerifyResult): Verdict {
  if (typ !== undefined && !(typeof typ === "string" && tokenTypes.has(typ.toLowerCase()))) {
    return { kind: "refused", reason: "wrong_type" };
  }
  if (sub !== undefined && typeof sub !== "string") {
    return { kind: "refused", reason: "bad_sub" };
  }
  return { kind: "verified", principal: { kind: "jwt", subject: sub } };
}

/**
 * Plain JWTs and access tokens (RFC 9068, section 4), if `typ` is present. Issuers sign other
 * things with the same keys: logout tokens, proofs of possession, security events (RFC 8725,
 * section 3.11).
 */
const tokenTypes: ReadonlySet<string> = new Set([
  "jwt",
  "application/jwt",
  "at+jwt",
  "application/at+jwt",
]);

/** jose checks claims after the signature: details are only for tokens that were issued. */
function reasonOf(error: errors.JOSEError): RefusalReason {
  if (error instanceof errors.JWTExpired) return "expired";
  if (!(error instanceof errors.JWTClaimValidationFailed)) return "unknown";
  const claim = readClaims.find((name) => name === error.claim);
  if (claim === undefined) return "unknown";
  return (error.reason === "check_failed" && wrongClaims[claim]) || `bad_${claim}`;
}

const wrongClaims: { readonly [claim in (typeof readClaims)[number]]?: RefusalReason } = {
  nbf: "not_yet_valid",
  iss: "wrong_issuer",
  aud: "wrong_audience",
};

/** Three parts of base64url (RFC 7515, section 7.1). This server's opaque tokens contain no dot. */
const compactJws = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
