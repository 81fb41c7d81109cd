import type { AuthSettings } from "./settings.ts";
import { createToken, listTokens, revokeToken } from "./token-file.ts";
import { TokenFileError } from "./token-file-error.ts";

/** The name of the token that a first start makes. */
export const firstTokenName = "first";

/**
 * Makes a token when nobody could get in without: no token is given, none lives
 * in the file, and there are no JWTs. The answer is to be shown once; it is
 * `undefined` when somebody can get in already.
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
    // Another server that starts on the same file was quicker, and shows its token.
    if (error instanceof TokenFileError && error.code === "name_in_use") return undefined;
    throw error;
  }
}

/** Takes the first token back: the start that made it has failed, and nobody has seen it. */
export async function revokeFirstToken({ tokenFile }: AuthSettings): Promise<void> {
  if (tokenFile !== undefined) await revokeToken(tokenFile, firstTokenName);
}
