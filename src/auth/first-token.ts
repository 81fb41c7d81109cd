import type { AuthSettings } from "./settings.ts";
import { createToken, listTokens, revokeToken, TokenFileError } from "./token-file.ts";

/** The name of the token created on the first start. */
export const firstTokenName = "first";

/**
 * Creates a token if nobody could be authenticated otherwise: no token is configured, none is live
 * in the file, and JWTs are not configured. Show the returned token once. Returns `undefined` if
 * there already is a way to authenticate.
 *
 * @throws {TokenFileError}
 */
export async function createFirstToken(settings: AuthSettings): Promise<string | undefined> {
  const { tokenFile, tokens, jwt } = settings;
  if (tokenFile === undefined || tokens.length > 0 || jwt !== undefined) return undefined;
  if ((await listTokens(tokenFile)).length > 0) return undefined;
  try {
    return await createToken(tokenFile, firstTokenName);
  } catch (error) {
    // Another server starting on the same file was faster, and shows its token.
    if (error instanceof TokenFileError && error.code === "name_in_use") return undefined;
    throw error;
  }
}

/** Revokes the first token: the start that created it failed, and nobody has seen it. */
export async function revokeFirstToken({ tokenFile }: AuthSettings): Promise<void> {
  if (tokenFile !== undefined) await revokeToken(tokenFile, firstTokenName);
}
