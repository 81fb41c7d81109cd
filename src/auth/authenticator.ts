import type { ReportProblem } from "./problem.ts";
import type { AuthSettings } from "./settings.ts";
import { openTokenVerifier } from "./token-verifier.ts";
import type { Verifier } from "./verifier.ts";

/** The settings at work. */
export interface Authenticator {
  /** In the order in which to ask them. */
  readonly verifiers: readonly Verifier[];
  /** Ends the watching of files and endpoints. The verifiers go on with what they know. */
  close(): void;
}

/**
 * Opens all that the settings name. Does not wait for the key set: until it is
 * there, JWTs are answered with `unavailable`, and opaque tokens work.
 *
 * @throws {TokenFileError} When the token file exists and cannot be used.
 */
export async function openAuthenticator(
  settings: AuthSettings,
  report: ReportProblem,
): Promise<Authenticator> {
  const { tokenFile: file, tokens, jwt } = settings;
  const opaque = await openTokenVerifier({ file, tokens, report });
  const verifyOpaque = [opaque.verify, opaque.verifyNew];
  if (jwt === undefined) return { verifiers: verifyOpaque, close: opaque.close };

  // Loaded where it is wanted alone, for the sake of the start.
  const { openKeySet } = await import("./jwks.ts");
  const { createJwtVerifier } = await import("./jwt.ts");
  const { jwksUrl: url, issuer, audience } = jwt;
  const keys = openKeySet({ url, report });
  const verifyJwt = createJwtVerifier({ keys, issuer, audience });
  return {
    // Opaque tokens first: a lookup costs a microsecond, a signature a hundred.
    verifiers: [...verifyOpaque, verifyJwt],
    close() {
      opaque.close();
      keys.close();
    },
  };
}
