import { type ContextKey, createContextKey } from "@connectrpc/connect";

/** Who makes a call, once its token was verified. Holds no part of the token. */
export type Principal =
  /** An opaque token: the name it was created under, or `tokens#N`, the Nth of the settings. */
  | { readonly kind: "token"; readonly name: string }
  /** A JWT: its `sub` claim (RFC 7519, section 4.1.2), when it has one. */
  | { readonly kind: "jwt"; readonly subject: string | undefined };

/** Where the gate leaves the principal of a call; `undefined` means nobody was verified. */
export const principalKey: ContextKey<Principal | undefined> = createContextKey<
  Principal | undefined
>(undefined, { description: "the verified caller" });

/**
 * One string for a caller, for logs and limits per caller; only those whose JWTs
 * have no `sub` share one. A subject is text of the issuer: it may hold any
 * character, and be as long as a token.
 */
export function principalId(principal: Principal): string {
  switch (principal.kind) {
    case "token":
      return `token:${principal.name}`;
    case "jwt":
      return principal.subject === undefined ? "jwt" : `jwt:${principal.subject}`;
  }
}
