import { createContextKey } from "@connectrpc/connect";

/** For one well-formed token. Returns a promise only if it has to wait. Throws only for a bug. */
export type Verifier = (token: string) => Verdict | Promise<Verdict>;

export type Verdict =
  | { readonly kind: "verified"; readonly principal: Principal }
  | { readonly kind: "refused"; readonly reason: RefusalReason }
  /** It cannot be decided now whether the token is valid. Retrying later may help. */
  | { readonly kind: "unavailable" };

/** Every reason but `unknown` means that the issuer did sign the token. */
export type RefusalReason =
  /** Not a token of this verifier: never issued, revoked, or not signed by a key of the issuer. */
  | "unknown"
  | "expired"
  | "not_yet_valid"
  | "wrong_issuer"
  | "wrong_audience"
  /** Signed by the issuer, but not for access: a logout token, for example. */
  | "wrong_type"
  /** A required claim is missing, or a claim has the wrong type. */
  | `bad_${(typeof readClaims)[number]}`;

export const readClaims = ["exp", "nbf", "iat", "iss", "aud", "sub"] as const;

export const unknownToken: Verdict = { kind: "refused", reason: "unknown" };

/** Asks the second verifier about a token that is unknown to the first. Synchronous if both are. */
export function orElse(first: Verifier, second: Verifier): Verifier {
  const next = (verdict: Verdict, token: string) =>
    verdict.kind === "refused" && verdict.reason === "unknown" ? second(token) : verdict;
  return (token) => {
    const verdict = first(token);
    if (verdict instanceof Promise) return verdict.then((known) => next(known, token));
    return next(verdict, token);
  };
}

/** The authenticated caller. Contains no part of the token. */
export type Principal =
  /** An opaque token: the name it was created with, or `tokens#N` for the Nth of the settings. */
  | { readonly kind: "token"; readonly name: string }
  /** A JWT: its `sub` claim (RFC 7519, section 4.1.2), if it has one. */
  | { readonly kind: "jwt"; readonly subject: string | undefined };

/** Where the gate stores the principal of a call. `undefined` means an unverified caller. */
export const principalKey = createContextKey<Principal | undefined>(undefined, {
  description: "the verified caller",
});

/** For logs and limits. Callers share one if their JWTs have no `sub`, which may be any text, and long. */
export function principalId(principal: Principal): string {
  if (principal.kind === "token") return `token:${principal.name}`;
  return principal.subject === undefined ? "jwt" : `jwt:${principal.subject}`;
}
