import { isThisMachine } from "../settings/place.ts";
import { file, list, type SettingProblem, type SettingsOf, text } from "../settings/schema.ts";
import { isBearerToken } from "./bearer.ts";
import { liveTokensMax } from "./token-file.ts";

/** Authentication. All settings are optional here; a program may require a source of tokens. */
export const authSettings = {
  tokenFile: file("Where opaque tokens are kept", { placeholder: "path" }),
  tokens: list("Opaque tokens of 16 characters or more, separated by commas", {
    placeholder: "tokens",
    from: "variable",
    secret: "whole",
    check: findTokenProblem,
  }),
  jwksUrl: text("Accept JWTs signed by a key of this JWKS", {
    placeholder: "url",
    // A URL with a password is rejected, without showing the password.
    secret: "password",
    check: findJwksUrlProblem,
  }),
  jwtIssuer: text("The `iss` that a JWT must have", { placeholder: "iss" }),
  jwtAudience: text("The `aud` that a JWT must have", { placeholder: "aud" }),
};

export type AuthSettings = SettingsOf<typeof authSettings>;

/** Contradictions. Without issuer and audience, a token for another service would be accepted. */
export function findAuthProblems(settings: AuthSettings): SettingProblem[] {
  const other = "jwksUrl";
  const isJwt = settings.jwksUrl !== undefined;
  const problem = isJwt ? `is required with ${other}` : `requires ${other}`;
  return (["jwtIssuer", "jwtAudience"] as const)
    .filter((name) => (isJwt ? !settings[name] : settings[name] !== undefined))
    .map((setting) => ({ setting, other, problem }));
}

export function hasAuth({ tokenFile, tokens, jwksUrl }: AuthSettings): boolean {
  return tokenFile !== undefined || tokens.length > 0 || jwksUrl !== undefined;
}

/** 16 random characters of base64 are 96 bits. Longer ones leave no room for other headers. */
const tokenLength = { min: 16, max: 8192 };

/** Shows no token. */
function findTokenProblem(tokens: readonly string[]): string | undefined {
  if (tokens.length > liveTokensMax) return `there are more than ${liveTokensMax}`;
  for (const [index, token] of tokens.entries()) {
    const problem = tokenProblem(token);
    if (problem !== undefined) return `token ${index + 1} of ${tokens.length} ${problem}`;
  }
  return undefined;
}

function tokenProblem(token: string): string | undefined {
  const { min, max } = tokenLength;
  if (token.length < min) return `has fewer than ${min} characters`;
  if (token.length > max) return `has more than ${max} characters`;
  if (isBearerToken(token)) return undefined;
  return "has a character other than letters, digits and -._~+/ (and = at its end)";
}

/** An attacker who can change the keys in transit can sign any token. */
function findJwksUrlProblem(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null) return "is not an absolute URL";
  if (url.username !== "" || url.password !== "") return "must not contain a user name or password";
  const isSafe =
    url.protocol === "https:" || (url.protocol === "http:" && isThisMachine(url.hostname));
  return isSafe ? undefined : "must start with https:// (http:// only for loopback)";
}
