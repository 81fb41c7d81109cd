import { isBearerToken } from "./authorization.ts";
import { liveTokensMax } from "./token-file.ts";

/** Authentication options for operators. At least one source of tokens is required. */
export interface AuthOptions {
  /** Path of the file with opaque tokens. It need not exist yet. Default: none. */
  readonly tokenFile?: string | undefined;
  /** Opaque tokens as plain text, 16 to 8192 characters each. Default: none. */
  readonly tokens?: readonly string[] | undefined;
  /** URL of the key set that verifies JWTs: https, or http on this machine. Default: no JWTs. */
  readonly jwksUrl?: string | undefined;
  /** The required `iss` of a JWT. Required with `jwksUrl`, not allowed without. */
  readonly jwtIssuer?: string | undefined;
  /** The `aud` that a JWT must have or contain. Required with `jwksUrl`, not allowed without. */
  readonly jwtAudience?: string | undefined;
}

/** Validated {@link AuthOptions} with defaults filled in. */
export interface AuthSettings {
  readonly tokenFile: string | undefined;
  readonly tokens: readonly string[];
  readonly jwt: JwtSettings | undefined;
}

export interface JwtSettings {
  readonly jwksUrl: URL;
  readonly issuer: string;
  readonly audience: string;
}

/**
 * A setting is invalid, or two contradict each other. The message is one line and shows no token.
 */
export class AuthSettingError extends Error {
  override readonly name = "AuthSettingError";
  /** The invalid setting, for callers with another name for it (a flag, a variable). */
  readonly setting: keyof AuthOptions;
  /** What is wrong with it. */
  readonly problem: string;
  /** Another setting that the problem refers to. */
  readonly other: keyof AuthOptions | undefined;

  constructor(setting: keyof AuthOptions, problem: string, other?: keyof AuthOptions) {
    super(`${setting}: ${problem}`);
    this.setting = setting;
    this.problem = problem;
    this.other = other;
  }
}

/** @throws {AuthSettingError} */
export function resolveAuthOptions(options: AuthOptions): AuthSettings {
  const { tokenFile, tokens = [] } = options;
  if (tokenFile === "") throw new AuthSettingError("tokenFile", "is empty");
  assertTokens(tokens);
  const jwt = resolveJwt(options);
  if (tokenFile === undefined && tokens.length === 0 && jwt === undefined) {
    throw new AuthSettingError("tokenFile", "is required unless tokens or JWTs are configured");
  }
  return { tokenFile, tokens, jwt };
}

/** Shorter tokens can be guessed: 16 random characters of base64 are 96 bits. */
const tokenLengthMin = 16;

/** Our own tokens have 48. This leaves room for the other headers of a request. */
const tokenLengthMax = 8192;

function assertTokens(tokens: readonly string[]): void {
  if (tokens.length > liveTokensMax) {
    throw new AuthSettingError("tokens", `there are more than ${liveTokensMax}`);
  }
  for (const [index, token] of tokens.entries()) {
    const problem = tokenProblem(token);
    if (problem === undefined) continue;
    throw new AuthSettingError("tokens", `token ${index + 1} of ${tokens.length} ${problem}`);
  }
}

function tokenProblem(token: string): string | undefined {
  if (token === "") return "is empty";
  if (token.length < tokenLengthMin) return `has fewer than ${tokenLengthMin} characters`;
  if (token.length > tokenLengthMax) return `has more than ${tokenLengthMax} characters`;
  if (isBearerToken(token)) return undefined;
  return "has a character other than letters, digits and -._~+/ (and = at its end)";
}

function resolveJwt(options: AuthOptions): JwtSettings | undefined {
  const { jwksUrl, jwtIssuer: issuer, jwtAudience: audience } = options;
  if (jwksUrl === undefined) {
    for (const setting of ["jwtIssuer", "jwtAudience"] as const) {
      if (options[setting] === undefined) continue;
      throw new AuthSettingError(setting, "requires jwksUrl", "jwksUrl");
    }
    return undefined;
  }
  // Without both, a token issued for another service would be accepted here.
  if (!issuer) throw new AuthSettingError("jwtIssuer", "is required with jwksUrl", "jwksUrl");
  if (!audience) throw new AuthSettingError("jwtAudience", "is required with jwksUrl", "jwksUrl");
  return { jwksUrl: parseJwksUrl(jwksUrl), issuer, audience };
}

/**
 * Whoever can change the keys in transit can sign any token. So require https, unless no network is
 * involved.
 */
function parseJwksUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw new AuthSettingError("jwksUrl", "is not an absolute URL");
  if (url.username !== "" || url.password !== "") {
    throw new AuthSettingError("jwksUrl", "must not contain a user name or password");
  }
  if (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname))) {
    return url;
  }
  throw new AuthSettingError("jwksUrl", "must start with https:// (http:// only for loopback)");
}

/** The URL parser has converted every IPv4 address to dotted decimal. */
function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
}
