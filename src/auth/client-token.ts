import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { isBearerToken } from "./authorization.ts";

// Runs in browsers too: imports nothing of Node, directly or indirectly.

/** A token, or where to get the one for the next call (a cache, a refresh, a prompt). */
export type TokenSource = string | (() => string | Promise<string>);

/**
 * A client interceptor that sends `Authorization: Bearer <token>` with each
 * call, unless the call brings an Authorization header of its own.
 *
 * @param source A function is called once for each call.
 * @throws {TypeError} For what is neither a string nor a function (a variable of the environment
 * that is not set), and for a string that no header can carry as a bearer token. From a function,
 * either fails the call, with `unauthenticated`.
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

/** Never quotes the token: messages end up in logs. */
function tokenProblem(token: unknown): string | undefined {
  if (typeof token !== "string") return "the bearer token must be a string";
  if (token === "") return "the bearer token is empty";
  if (isBearerToken(token)) return undefined;
  return (
    "the bearer token has a character that a token cannot have: " +
    "allowed are letters, digits and -._~+/ with = at the end (no spaces, no line break)"
  );
}
