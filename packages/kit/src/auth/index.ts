/** Bearer tokens: opaque ones of a file or a list, and JWTs by a key set. */
export * from "./authenticator.ts";
export * from "./bearer.ts";
export * from "./settings.ts";
export * from "./token-file.ts";
export * from "./verifier.ts";
