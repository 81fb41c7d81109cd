import { Code, ConnectError, type HandlerContext, type Interceptor } from "@connectrpc/connect";
import {
  principalKey,
  type RefusalReason,
  readClaims,
  type Verdict,
  type Verifier,
} from "./verifier.ts";

/**
 * Creates a gate that stores the caller under {@link principalKey}; synchronous if the verifier is.
 * @throws {ConnectError} `unauthenticated` with a challenge (RFC 6750, section 3), or `unavailable`
 * if the verifier cannot decide now. Without any part of the token.
 */
export function createBearerGate(verify: Verifier, realm: string) {
  const refusal = createRefusals(realm);
  const admit = ({ values }: Pick<HandlerContext, "values">, verdict: Verdict): void => {
    if (verdict.kind === "refused") throw refusal(verdict.reason);
    if (verdict.kind === "unavailable") {
      unavailable ??= new ConnectError(cannotVerify, Code.Unavailable);
      throw unavailable;
    }
    values.set(principalKey, verdict.principal);
  };
  return (context: Pick<HandlerContext, "requestHeader" | "values">): void | Promise<void> => {
    const authorization = parseAuthorization(context.requestHeader.get("authorization"));
    if (authorization.token === undefined) throw refusal(authorization.problem);
    const verdict = verify(authorization.token);
    if (!(verdict instanceof Promise)) return admit(context, verdict);
    return verdict.then((known) => admit(context, known));
  };
}

/** Rejects every call that no gate has verified, so that nothing can be mounted around it. */
export function requirePrincipal(realm: string): Interceptor {
  const refusal = createRefusals(realm);
  return (next) => (request) => {
    if (request.contextValues.get(principalKey) === undefined) throw refusal("missing");
    return next(request);
  };
}

// Creating an error costs more than throwing it. Not made at startup: it loads undici.

let unavailable: ConnectError | undefined;

const cannotVerify = "bearer tokens cannot be verified right now";

/** Without a token: no header or another scheme, no token behind it, not exactly one. */
type Problem = "missing" | "empty" | "malformed";

/** ASCII without `"` and `\`, as `error_description` requires. */
const descriptions = {
  missing: "a bearer token is required: send the header Authorization: Bearer <token>",
  empty: "the bearer token is empty",
  malformed: "the bearer token is malformed",
  unknown: "the bearer token is unknown or revoked, or signed with an unknown key",
  expired: "the bearer token has expired",
  not_yet_valid: "the bearer token is not valid yet",
  wrong_issuer: "the bearer token has an issuer (iss) that is not accepted here",
  wrong_audience: "the bearer token is meant for another audience (aud)",
  wrong_type: "the bearer token is not an access token (typ)",
  ...Object.fromEntries(
    readClaims.map((claim) => [
      `bad_${claim}`,
      `the bearer token lacks the claim ${claim}, or its value is malformed`,
    ]),
  ),
} as Readonly<Record<RefusalReason | Problem, string>>;

function createRefusals(realm: string): (reason: RefusalReason | Problem) => ConnectError {
  const errors = new Map<string, ConnectError>();
  return (reason) => {
    let error = errors.get(reason);
    if (error === undefined) {
      const message = descriptions[reason];
      // RFC 6750, section 3.1: a request without credentials gets no error code.
      const code = `, error="invalid_token", error_description="${message}"`;
      const challenge = `Bearer realm="${realm}"${reason === "missing" ? "" : code}`;
      error = new ConnectError(message, Code.Unauthenticated, { "WWW-Authenticate": challenge });
      errors.set(reason, error);
    }
    return error;
  };
}

/** RFC 6750, section 2.1. The scheme is case-insensitive (RFC 9110, section 11.1), the rest exact. */
export function parseAuthorization(value: string | null) {
  if (value !== null && credentials.test(value)) {
    return { token: value.slice(value.lastIndexOf(" ") + 1) };
  }
  const isOther = value === null || !scheme.test(value);
  const problem = isOther ? "missing" : schemeAlone.test(value) ? "empty" : "malformed";
  return { token: undefined, problem } as const;
}

/** Whether a text is a b64token, which a client can send after `Bearer`. */
export function isBearerToken(text: string): boolean {
  return /^[A-Za-z0-9._~+/-]+=*$/.test(text);
}

// Neither of these can backtrack: each part ends where a character outside it begins.
const credentials = /^bearer +[A-Za-z0-9._~+/-]+=*$/i;
const schemeAlone = /^bearer *$/i;
/** The whole scheme is "bearer": no other character of an HTTP token follows (RFC 9110, 5.6.2). */
const scheme = /^bearer(?![!#$%&'*+.^_`|~0-9A-Za-z-])/i;
