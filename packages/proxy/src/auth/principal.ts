import { type ContextKey, createContextKey } from "@connectrpc/connect";

/** The authenticated caller. Contains no part of the token. */
export type Principal =
  /** An opaque token: the name it was created with, or `tokens#N` for the Nth of the settings. */
  | { readonly kind: "token"; readonly name: string }
  /** A JWT: its `sub` claim (RFC 7519, section 4.1.2), if it has one. */
  | { readonly kind: "jwt"; readonly subject: string | undefined };

/** Where the gate stores the principal of a call. `undefined` means that nobody was verified. */
export const principalKey: ContextKey<Principal | undefined> = createContextKey<
  Principal | undefined
>(undefined, { description: "the verified caller" });

/**
 * A string that identifies a caller, for logs and limits per caller. Callers share one only if
 * their JWTs have no `sub`. A subject comes from the issuer: it may contain any character and be as
 * long as a token.
 */
export function principalId(principal: Principal): string {
  switch (principal.kind) {
    case "token":
      return `token:${principal.name}`;
    case "jwt":
      return principal.subject === undefined ? "jwt" : `jwt:${principal.subject}`;
  }
}
