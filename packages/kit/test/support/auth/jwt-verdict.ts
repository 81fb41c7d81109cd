import { type KeySet, openKeySet } from "../../../src/auth/jwks.ts";
import { createJwtVerifier } from "../../../src/auth/jwt.ts";
import type { Verifier } from "../../../src/auth/verifier.ts";
import { audience, issuer } from "./issuer.ts";
import { keySetOf, startKeyServer } from "./key-server.ts";

export async function verifierOf(...jwks: readonly unknown[]): Promise<Verifier> {
  const { url } = await startKeyServer(keySetOf(...jwks));
  return createJwtVerifier({ keys: openKeySet({ url, report: () => {} }), issuer, audience });
}

/** The verdict in one word: the subject, the reason, or the kind. */
export async function ask(verify: Verifier, token: string): Promise<string | undefined> {
  const verdict = await verify(token);
  if (verdict.kind === "refused") return verdict.reason;
  if (verdict.kind === "unavailable") return verdict.kind;
  return verdict.principal.kind === "jwt" ? (verdict.principal.subject ?? "nobody") : "token";
}

/** A key set that has one key for every token. */
export function fixedKeys(key: unknown): Omit<KeySet, "reload"> {
  return {
    resolve: async () => key as never,
    version: 1,
    isReady: async () => true,
    hasNewerThan: async () => false,
  };
}
