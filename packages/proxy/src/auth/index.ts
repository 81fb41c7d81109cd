/** Bearer tokens: opaque ones of a file or a list, and JWTs by a key set. */
export {
  type Authenticator,
  createFirstToken,
  needsFirstToken,
  openAuthenticator,
  revokeFirstToken,
} from "./authenticator.ts";
export { createBearerGate, type Gate, inOrder, requirePrincipal } from "./bearer.ts";
export { type AuthSettings, authSettings, findAuthProblems, hasAuth } from "./settings.ts";
export {
  createToken,
  digestToken,
  listTokens,
  mintToken,
  revokeToken,
  TokenFileError,
} from "./token-file.ts";
export {
  type Principal,
  principalId,
  principalKey,
  type RefusalReason,
  unknownToken,
  type Verdict,
  type Verifier,
} from "./verifier.ts";
