/** Bearer tokens: opaque ones of a file or a list, and JWTs by a key set. */
export { type Authenticator, openAuthenticator } from "./authenticator.ts";
export { createBearerGate, requirePrincipal } from "./bearer.ts";
export { createFirstToken, needsFirstToken, revokeFirstToken } from "./first-token.ts";
export { type Gate, inOrder } from "./gate.ts";
export { type Principal, principalId, principalKey } from "./principal.ts";
export { type AuthSettings, authSettings, findAuthProblems, hasAuth } from "./settings.ts";
export { digestToken, mintToken } from "./token.ts";
export { createToken, listTokens, revokeToken, TokenFileError } from "./token-file.ts";
export { type RefusalReason, unknownToken, type Verdict, type Verifier } from "./verifier.ts";
