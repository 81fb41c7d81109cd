import type { Principal } from "./principal.ts";

/**
 * Verifies one token that is well-formed by RFC 6750. Returns synchronously if possible, and a
 * promise only if it has to wait. Throws only for a bug.
 */
export type Verifier = (token: string) => Verdict | Promise<Verdict>;

export type Verdict =
  | { readonly kind: "verified"; readonly principal: Principal }
  | { readonly kind: "refused"; readonly reason: RefusalReason }
  /** It cannot be decided now whether the token is valid. Retrying later may help. */
  | { readonly kind: "unavailable" };

/**
 * Why a token was rejected. Every reason but `unknown` means that the issuer did sign the token.
 */
export type RefusalReason =
  /** Not a token of this verifier: never issued, revoked, or not signed by a key of the issuer. */
  | "unknown"
  | "expired"
  | "not_yet_valid"
  | "wrong_issuer"
  | "wrong_audience"
  /** Signed by the issuer, but not for access: a logout token, for example. */
  | "wrong_type"
  | BadClaim;

/** A required claim is missing, or a claim has the wrong type. */
export type BadClaim = `bad_${(typeof readClaims)[number]}`;

export const readClaims = ["exp", "nbf", "iat", "iss", "aud", "sub"] as const;

export const unknownToken: Verdict = { kind: "refused", reason: "unknown" };

/**
 * Tries one verifier after another. `unknown` passes the token to the next one; any other verdict
 * is final. Stays synchronous as long as the verifiers do.
 */
export function verifyWith(
  verifiers: readonly Verifier[],
  token: string,
): Verdict | Promise<Verdict> {
  for (let i = 0; i < verifiers.length; i++) {
    const verdict = verifiers[i]?.(token) ?? unknownToken;
    if (verdict instanceof Promise) {
      const rest = verifiers.slice(i + 1);
      return verdict.then((known) => (isUnknown(known) ? verifyWith(rest, token) : known));
    }
    if (!isUnknown(verdict)) return verdict;
  }
  return unknownToken;
}

function isUnknown(verdict: Verdict): boolean {
  return verdict.kind === "refused" && verdict.reason === "unknown";
}
