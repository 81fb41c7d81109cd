import { errors, type JWTVerifyOptions, type JWTVerifyResult, jwtVerify } from "jose";
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
  readonly issuer: string;
  readonly audience: string;
  /** The clock that `exp` and `nbf` are compared with, in milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
}

/**
 * Verifies JWTs (RFC 7519, RFC 8725). A key comes only from the set: `jwk`, `jku`, `x5u` and `x5c`
 * are ignored. Extensions (`crit`), unencoded payloads and encrypted tokens are rejected.
 */
export function createJwtVerifier(options: JwtVerifierOptions): Verifier {
  const { keys, issuer, audience, now = Date.now } = options;
  const admitted = new Map<string, { verdict: Verdict; version: number; expiresAt: number }>();

  return (token) => (compactJws.test(token) ? verify(token) : unknownToken);

  async function verify(token: string): Promise<Verdict> {
    if (!(await keys.isReady())) return { kind: "unavailable" };
    const { version } = keys;
    const known = admitted.get(token);
    if (known?.version === version && now() < known.expiresAt) return known.verdict;
    const verdict = await verifyWithKeys(token);
    // The issuer may have another key by now, also one without `kid` or with the `kid` of an old one.
    if (verdict !== unknownToken || !(await keys.hasNewerThan(version))) return verdict;
    return await verifyWithKeys(token);
  }

  async function verifyWithKeys(token: string): Promise<Verdict> {
    const { version } = keys;
    const admit = ({ protectedHeader: { typ }, payload }: JWTVerifyResult): Verdict => {
      const verdict = verdictFor(typ, payload.sub);
      const expiresAt = (Number(payload.exp) + toleranceSeconds) * 1000;
      if (verdict.kind === "verified") admitted.set(token, { verdict, version, expiresAt });
      const [oldest = ""] = admitted.keys();
      if (admitted.size > admittedMax) admitted.delete(oldest);
      return verdict;
    };
    const checks: JWTVerifyOptions = {
      algorithms: [...signatureAlgorithms],
      issuer,
      audience,
      requiredClaims: ["exp"],
      clockTolerance: toleranceSeconds,
      currentDate: new Date(now()),
    };
    try {
      return admit(await jwtVerify(token, keys.resolve, checks));
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) return verdictOf(error);
      // It names none, for example.
      for await (const key of error) {
        const verdict = await jwtVerify(token, key, checks).then(admit, verdictOf);
        if (verdict !== unknownToken) return verdict;
      }
      return unknownToken;
    }
  }
}

const toleranceSeconds = 30;

/** So many tokens are remembered: to verify a signature takes longer than all else of a call. */
const admittedMax = 1000;

/** @throws an error that is not about the token. */
function verdictOf(error: unknown): Verdict {
  const isKeyUnknown =
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWSSignatureVerificationFailed;
  if (isKeyUnknown) return unknownToken;
  if (error instanceof errors.JOSEError) return { kind: "refused", reason: reasonOf(error) };
  throw error;
}

/** Checks what jose does not: the types of the token, and of `sub` (RFC 7519, section 4.1.2). */
function verdictFor(typ: unknown, sub: unknown): Verdict {
  const isAccess = typ === undefined || (typeof typ === "string" && tokenTypes.test(typ));
  if (!isAccess) return { kind: "refused", reason: "wrong_type" };
  if (sub !== undefined && typeof sub !== "string") return { kind: "refused", reason: "bad_sub" };
  return { kind: "verified", principal: { kind: "jwt", subject: sub } };
}

/** RFC 9068, section 4, and JOSE for JWT-SVIDs of SPIFFE. Issuers sign other things with the same keys (RFC 8725, section 3.11). */
const tokenTypes = /^(?:application\/)?(?:(?:at\+)?jwt|jose)$/i;

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
