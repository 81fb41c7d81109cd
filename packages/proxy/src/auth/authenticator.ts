import type { ReportProblem } from "./problem.ts";
import type { AuthSettings } from "./settings.ts";
import { openTokenVerifier } from "./token-verifier.ts";
import type { Verifier } from "./verifier.ts";

/** The verifiers that the settings ask for. */
export interface Authenticator {
  /** In the order in which they are tried. */
  readonly verifiers: readonly Verifier[];
  /** Reads tokens and keys again, now. Never rejects. */
  reload(): Promise<void>;
}

/**
 * Opens everything that the settings name. Does not wait for the key set: until it has been
 * fetched, JWTs get `unavailable`, while opaque tokens work.
 *
 * @throws {TokenFileError} If the token file exists but cannot be used.
 */
export async function openAuthenticator(
  settings: AuthSettings,
  report: ReportProblem,
): Promise<Authenticator> {
  const { tokenFile: file, tokens, jwksUrl, jwtIssuer: issuer, jwtAudience: audience } = settings;
  const opaque = await openTokenVerifier({ file, tokens, report });
  if (jwksUrl === undefined) return { verifiers: [opaque.verify], reload: opaque.look };

  // Loaded only if needed, for a fast startup.
  const { openKeySet } = await import("./jwks.ts");
  const { createJwtVerifier } = await import("./jwt.ts");
  const keys = openKeySet({ url: new URL(jwksUrl), report });
  const verifyJwt = createJwtVerifier({ keys, issuer: issuer ?? "", audience: audience ?? "" });
  return {
    // Opaque tokens first: a lookup costs a microsecond, a signature a hundred.
    verifiers: [opaque.verify, verifyJwt],
    async reload() {
      await Promise.all([opaque.look(), keys.reload()]);
    },
  };
}
