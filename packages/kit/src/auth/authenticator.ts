import type { Log } from "connect-gateway/logging";
import type { AuthSettings } from "./settings.ts";
import { createToken, listTokens, revokeToken, TokenFileError } from "./token-file.ts";
import { openTokenVerifier } from "./token-verifier.ts";
import { orElse } from "./verifier.ts";

/** Does not wait for the key set: until then, JWTs get `unavailable`. @throws {TokenFileError} */
export async function openAuthenticator(settings: AuthSettings, report: Log["warn"]) {
  const { tokenFile: file, tokens, jwksUrl, jwtIssuer: issuer, jwtAudience: audience } = settings;
  const opaque = await openTokenVerifier({ file, tokens, report });
  if (jwksUrl === undefined) return { verify: opaque.verify, reload: opaque.look };

  // Loaded only if needed, for a fast startup.
  const { openKeySet } = await import("./jwks.ts");
  const { createJwtVerifier } = await import("./jwt.ts");
  const keys = openKeySet({ url: new URL(jwksUrl), report });
  // Opaque tokens first: a lookup costs a microsecond, a signature a hundred.
  const jwt = createJwtVerifier({ keys, issuer: issuer ?? "", audience: audience ?? "" });
  const verify = orElse(opaque.verify, jwt);
  /** Reads tokens and keys again, now. Never rejects. */
  const reload = async () => void (await Promise.all([opaque.look(), keys.reload()]));
  return { verify, reload };
}

const firstTokenName = "first";

/** Whether no caller can be authenticated: neither tokens nor JWTs are configured. @throws {TokenFileError} */
export async function needsFirstToken(settings: AuthSettings): Promise<boolean> {
  const { tokenFile, tokens, jwksUrl } = settings;
  if (tokenFile === undefined || tokens.length > 0 || jwksUrl !== undefined) return false;
  return (await listTokens(tokenFile)).length === 0;
}

/** Creates a token if {@link needsFirstToken}. Show it once. @throws {TokenFileError} */
export async function createFirstToken(
  settings: AuthSettings,
  prefix: string,
): Promise<string | undefined> {
  const { tokenFile } = settings;
  if (tokenFile === undefined || !(await needsFirstToken(settings))) return undefined;
  try {
    return await createToken(tokenFile, firstTokenName, prefix);
  } catch (error) {
    // Another server starting on the same file was faster, and shows its token.
    if (error instanceof TokenFileError && error.code === "name_in_use") return undefined;
    throw error;
  }
}

export async function revokeFirstToken({ tokenFile }: AuthSettings): Promise<void> {
  if (tokenFile !== undefined) await revokeToken(tokenFile, firstTokenName);
}
