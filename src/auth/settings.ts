import { isBearerToken } from "./authorization.ts";
import { liveTokensMax } from "./token-file.ts";

/** What an operator may say about who gets in. At least one source of tokens is needed. */
export interface AuthOptions {
  /** Path of the file that keeps opaque tokens; need not exist yet. Default: none. */
  readonly tokenFile?: string | undefined;
  /** Opaque tokens as plain text, 16 to 8192 characters each. Default: none. */
  readonly tokens?: readonly string[] | undefined;
  /** URL of the key set that JWTs are verified with: https, or http on this machine. Default: no JWTs. */
  readonly jwksUrl?: string | undefined;
  /** What `iss` of a JWT must be. Required with `jwksUrl`, meaningless without. */
  readonly jwtIssuer?: string | undefined;
  /** What `aud` of a JWT must be or contain. Required with `jwksUrl`, meaningless without. */
  readonly jwtAudience?: string | undefined;
}

/** {@link AuthOptions}, checked and whole. */
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

/** A setting is wrong, or two contradict each other. The message is one line and shows no token. */
export class AuthSettingError extends Error {
  override readonly name = "AuthSettingError";
  /** The setting at fault, for who knows it by another name (a flag, a variable). */
  readonly setting: keyof AuthOptions;
  /** What is wrong with it. */
  readonly problem: string;
  /** Another setting that the problem names. */
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
    throw new AuthSettingError("tokenFile", "without it, tokens or JWTs, nobody can get in");
  }
  return { tokenFile, tokens, jwt };
}

/** Shorter ones can be guessed: 16 random characters of base64 are 96 bits. */
const tokenLengthMin = 16;

/** One of our own has 48; this leaves room for the other headers of a request. */
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
      throw new AuthSettingError(setting, "needs jwksUrl, too", "jwksUrl");
    }
    return undefined;
  }
  // Without both, a token that was made for anybody else would be good here.
  if (!issuer) throw new AuthSettingError("jwtIssuer", "is required with jwksUrl", "jwksUrl");
  if (!audience) throw new AuthSettingError("jwtAudience", "is required with jwksUrl", "jwksUrl");
  return { jwksUrl: parseJwksUrl(jwksUrl), issuer, audience };
}

/** Who can change the keys on their way here can sign any token; so: https, or never on a network. */
function parseJwksUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw new AuthSettingError("jwksUrl", "is not an absolute URL");
  if (url.username !== "" || url.password !== "") {
    throw new AuthSettingError("jwksUrl", "must not hold a user name or password");
  }
  if (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname))) {
    return url;
  }
  throw new AuthSettingError("jwksUrl", "must begin with https:// (http:// only for loopback)");
}

/** The URL parser has made dotted decimal of every IPv4 address. */
function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
}
