import { errors, type JWTVerifyOptions, type JWTVerifyResult, jwtVerify } from "jose";
import { signatureAlgorithms } from "./jwk.ts";
import type { KeyResolver, KeySet } from "./jwks.ts";
import { type RefusalReason, unknownToken, type Verdict, type Verifier } from "./verifier.ts";

export interface JwtVerifierOptions {
  readonly keys: Pick<KeySet, "current" | "newerThan">;
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
 * The most keys tried for a token that fits several, for example because it names none. Each costs
 * a signature.
 */
const keysTriedMax = 4;

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
    const current = await keys.current();
    if (current === undefined) return { kind: "unavailable" };
    const verdict = await verifyWithKeys(token, current);
    if (verdict !== "key_not_found") return verdict;
    const newer = await keys.newerThan(current);
    if (newer === undefined) return unknownToken;
    const second = await verifyWithKeys(token, newer);
    return second === "key_not_found" ? unknownToken : second;
  }

  async function verifyWithKeys(
    token: string,
    resolve: KeyResolver,
  ): Promise<Verdict | "key_not_found"> {
    const checks: JWTVerifyOptions = {
      algorithms: [...signatureAlgorithms],
      issuer,
      audience,
      requiredClaims: ["exp"],
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(now()),
    };
    try {
      return await verifySignedBy(token, resolve, checks);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return "key_not_found";
      if (error instanceof errors.JOSEError) return { kind: "refused", reason: reasonOf(error) };
      throw error;
    }
  }
}

/** @throws {errors.JOSEError} If the token is rejected. */
async function verifySignedBy(
  token: string,
  resolve: KeyResolver,
  checks: JWTVerifyOptions,
): Promise<Verdict> {
  try {
    return admit(await jwtVerify(token, resolve, checks));
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    let tried = 0;
    for await (const key of error) {
      if (++tried > keysTriedMax) break;
      try {
        return admit(await jwtVerify(token, key, checks));
      } catch (error) {
        if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
      }
    }
    return unknownToken;
  }
}

/**
 * Checks what jose does not: the type of the token, and the type of `sub` (RFC 7519, section
 * 4.1.2).
 */
function admit({ protectedHeader: { typ }, payload: { sub } }: JWTVerifyResult): Verdict {
  if (typ !== undefined && !(typeof typ === "string" && tokenTypes.has(typ.toLowerCase()))) {
    return { kind: "refused", reason: "wrong_type" };
  }
  if (sub !== undefined && typeof sub !== "string") {
    return { kind: "refused", reason: "bad_claims" };
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

/**
 * jose checks claims after the signature, so details are revealed only for tokens that were really
 * issued.
 */
function reasonOf(error: errors.JOSEError): RefusalReason {
  if (error instanceof errors.JWTExpired) return "expired";
  if (!(error instanceof errors.JWTClaimValidationFailed)) return "unknown";
  if (error.reason !== "check_failed") return "bad_claims";
  switch (error.claim) {
    case "nbf":
      return "not_yet_valid";
    case "iss":
      return "wrong_issuer";
    case "aud":
      return "wrong_audience";
    default:
      return "bad_claims";
  }
}

/** Three parts of base64url (RFC 7515, section 7.1). This server's opaque tokens contain no dot. */
const compactJws = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
