import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";

// Also runs in browsers: must not import anything from Node, directly or indirectly.

/** A token, or a function that returns the token for the next call. */
export type TokenSource = string | (() => string | Promise<string>);

/**
 * A client interceptor that sends `Authorization: Bearer <token>` with each call, unless the call
 * has its own Authorization header.
 * @param source A function is called once for each call.
 * @throws {TypeError} If it is neither a string nor a function (an unset environment variable), or
 * cannot be sent as a bearer token. If a function returns such a value, the call fails with
 * `unauthenticated`.
 */
export function bearerToken(source: TokenSource): Interceptor {
  if (typeof source !== "function") {
    const problem = tokenProblem(source);
    if (problem !== undefined) throw new TypeError(problem);
  }
  return (next) => async (request) => {
    if (!request.header.has("Authorization")) {
      const token = typeof source === "function" ? await source() : source;
      const problem = tokenProblem(token);
      if (problem !== undefined) throw new ConnectError(problem, Code.Unauthenticated);
      request.header.set("Authorization", `Bearer ${token}`);
    }
    return next(request);
  };
}

/** Whether a text is a b64token of RFC 6750, section 2.1, which can be sent after `Bearer`. */
export function isBearerToken(text: string): boolean {
  return /^[A-Za-z0-9._~+/-]+=*$/.test(text);
}

/** Never quotes the token, because messages end up in logs. */
function tokenProblem(token: unknown): string | undefined {
  if (typeof token !== "string") return "the bearer token must be a string";
  if (token === "") return "the bearer token is empty";
  if (isBearerToken(token)) return undefined;
  return (
    "the bearer token has a character that a token cannot have: " +
    "allowed are letters, digits and -._~+/ with = at the end (no spaces, no line break)"
  );
}
