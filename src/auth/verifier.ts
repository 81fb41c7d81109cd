import type { Principal } from "./principal.ts";

/**
 * Looks at one token, well-formed by RFC 6750. Answers at once where it can: a
 * promise is for work that has to wait. Throws only for a bug.
 */
export type Verifier = (token: string) => Verdict | Promise<Verdict>;

export type Verdict =
  | { readonly kind: "verified"; readonly principal: Principal }
  | { readonly kind: "refused"; readonly reason: RefusalReason }
  /** Nobody can tell now whether the token is good; trying again later may. */
  | { readonly kind: "unavailable" };

/** Why a token was refused. All but `unknown` come from a token that its issuer did sign. */
export type RefusalReason =
  /** Not a token of this verifier: never issued, revoked, or not signed by a key of the issuer. */
  | "unknown"
  | "expired"
  | "not_yet_valid"
  | "wrong_issuer"
  | "wrong_audience"
  /** Signed by the issuer, for something else than access: a logout token, say. */
  | "wrong_type"
  /** A claim that is needed is missing, or one has the wrong type. */
  | "bad_claims";

export const unknownToken: Verdict = { kind: "refused", reason: "unknown" };

/**
 * Asks one verifier after the other. `unknown` hands the token on to the next;
 * any other verdict is the last word. Stays synchronous as long as they do.
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
