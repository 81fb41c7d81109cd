import type { AuthSettings } from "./settings.ts";
import { createToken, listTokens, revokeToken, TokenFileError } from "./token-file.ts";

/** The name of the token created on the first start. */
export const firstTokenName = "first";

/**
 * Whether nobody could be authenticated: no token is configured, none is live in the file, and JWTs
 * are not configured.
 *
 * @throws {TokenFileError}
 */
export async function needsFirstToken({
  tokenFile,
  tokens,
  jwksUrl,
}: AuthSettings): Promise<boolean> {
  if (tokenFile === undefined || tokens.length > 0 || jwksUrl !== undefined) return false;
  return (await listTokens(tokenFile)).length === 0;
}

/**
 * Creates a token if {@link needsFirstToken}, and returns it. Show it once.
 *
 * @throws {TokenFileError}
 */
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

/** Revokes the first token: the start that created it failed, and nobody has seen it. */
export async function revokeFirstToken({ tokenFile }: AuthSettings): Promise<void> {
  if (tokenFile !== undefined) await revokeToken(tokenFile, firstTokenName);
}
