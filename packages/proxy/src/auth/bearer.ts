import { Code, ConnectError, type HandlerContext, type Interceptor } from "@connectrpc/connect";
import {
  type BadClaim,
  principalKey,
  type RefusalReason,
  readClaims,
  type Verdict,
  type Verifier,
  verifyWith,
} from "./verifier.ts";

/**
 * Creates a gate that stores the caller under {@link principalKey}. It is synchronous if the verifiers
 * are, so that a call pays for no promise it does not need.
 *
 * The gate throws a ConnectError: `unauthenticated`, with a `WWW-Authenticate` challenge in its metadata
 * (RFC 6750, section 3); `unavailable` if no verifier can decide now. It never contains any part of
 * the token.
 */
export function createBearerGate(verifiers: readonly Verifier[], realm: string) {
  const refusals = refusalsOf(realm);
  return (context: Pick<HandlerContext, "requestHeader" | "values">): void | Promise<void> => {
    const authorization = parseAuthorization(context.requestHeader.get("authorization"));
    switch (authorization.kind) {
      case "absent":
      case "other_scheme":
        throw refusals.missing();
      case "empty":
        throw refusals.empty();
      case "malformed":
        throw refusals.malformed();
      case "bearer": {
        const verdict = verifyWith(verifiers, authorization.token);
        if (!(verdict instanceof Promise)) return admit(context, verdict, refusals);
        return verdict.then((known) => admit(context, known, refusals));
      }
    }
  };
}

/** Rejects every call that no gate has verified, so that nothing can be mounted around it. */
export function requirePrincipal(realm: string): Interceptor {
  const refusals = refusalsOf(realm);
  return (next) => (request) => {
    if (request.contextValues.get(principalKey) === undefined) throw refusals.missing();
    return next(request);
  };
}

type Refusals = Readonly<
  Record<RefusalReason | "missing" | "empty" | "malformed", () => ConnectError>
>;

function admit(
  { values }: Pick<HandlerContext, "values">,
  verdict: Verdict,
  refusals: Refusals,
): void {
  switch (verdict.kind) {
    case "verified":
      values.set(principalKey, verdict.principal);
      return;
    case "refused":
      throw refusals[verdict.reason]();
    case "unavailable":
      throw verifierUnavailable();
  }
}

// Shared by all calls: strangers may call often, and creating an error costs more than rejecting
// with it. Not created at startup: the first one loads undici, which takes 50 ms and 15 MiB.

const verifierUnavailable = once(
  () => new ConnectError("bearer tokens cannot be verified right now", Code.Unavailable),
);

/** ASCII without `"` and `\`, as `error_description` requires. */
const descriptions = {
  empty: "the bearer token is empty",
  malformed: "the bearer token is malformed",
  unknown: "the bearer token is unknown or revoked, or signed with an unknown key",
  expired: "the bearer token has expired",
  not_yet_valid: "the bearer token is not valid yet",
  wrong_issuer: "the bearer token has an issuer (iss) that is not accepted here",
  wrong_audience: "the bearer token is meant for another audience (aud)",
  wrong_type: "the bearer token is not an access token (typ)",
  ...(Object.fromEntries(
    readClaims.map((claim) => [
      `bad_${claim}`,
      `the bearer token lacks the claim ${claim}, or its value is malformed`,
    ]),
  ) as Record<BadClaim, string>),
} as const satisfies Record<string, string>;

/** RFC 6750, section 3.1: a request without credentials gets no error code. */
const missing = "a bearer token is required: send the header Authorization: Bearer <token>";

function refusalsOf(realm: string): Refusals {
  const challenge = `Bearer realm="${realm}"`;
  const invalid = Object.entries(descriptions).map(([reason, description]) => {
    const parameters = `error="invalid_token", error_description="${description}"`;
    return [reason, once(() => unauthenticated(description, `${challenge}, ${parameters}`))];
  });
  return {
    ...(Object.fromEntries(invalid) as Record<keyof typeof descriptions, () => ConnectError>),
    missing: once(() => unauthenticated(missing, challenge)),
  };
}

function unauthenticated(message: string, wwwAuthenticate: string): ConnectError {
  return new ConnectError(message, Code.Unauthenticated, { "WWW-Authenticate": wwwAuthenticate });
}

function once<T>(create: () => T): () => T {
  let created: T | undefined;
  return () => {
    created ??= create();
    return created;
  };
}

/** The content of an `Authorization` header, for a server that accepts only bearer tokens. */
type Authorization =
  /** No header, or an empty one. */
  | { readonly kind: "absent" }
  /** Credentials of another scheme (Basic, Digest, …), which this server does not accept. */
  | { readonly kind: "other_scheme" }
  /** The Bearer scheme without a token. */
  | { readonly kind: "empty" }
  /** The Bearer scheme, not followed by exactly one well-formed token. */
  | { readonly kind: "malformed" }
  | { readonly kind: "bearer"; readonly token: string };

/**
 * Parses a header value by RFC 6750, section 2.1: `"Bearer" 1*SP b64token`. The scheme is
 * case-insensitive (RFC 9110, section 11.1). The rest is exact, so two headers joined with a comma,
 * a quoted token and a tab are malformed. The length of a token is limited only by the header
 * limit.
 */
export function parseAuthorization(value: string | null): Authorization {
  if (value === null || value === "") return absent;
  if (credentials.test(value)) {
    return { kind: "bearer", token: value.slice(value.lastIndexOf(" ") + 1) };
  }
  if (!scheme.test(value)) return otherScheme;
  return schemeAlone.test(value) ? empty : malformed;
}

/** Whether a text is a b64token, which a client can send after `Bearer`. */
export function isBearerToken(text: string): boolean {
  return b64token.test(text);
}

const absent: Authorization = { kind: "absent" };
const otherScheme: Authorization = { kind: "other_scheme" };
const empty: Authorization = { kind: "empty" };
const malformed: Authorization = { kind: "malformed" };

// Neither of these can backtrack: each part ends where a character outside it begins.
const credentials = /^bearer +[A-Za-z0-9._~+/-]+=*$/i;
const schemeAlone = /^bearer *$/i;
const b64token = /^[A-Za-z0-9._~+/-]+=*$/;
/** The whole scheme is "bearer": no other character of an HTTP token follows (RFC 9110, 5.6.2). */
const scheme = /^bearer(?![!#$%&'*+.^_`|~0-9A-Za-z-])/i;

export type GateContext = Pick<HandlerContext, "requestHeader" | "responseHeader" | "values">;

/** Accepts a call, or throws, before any of its body is read. */
export type Gate = (context: GateContext) => void | Promise<void>;

/** Runs two gates in order. Synchronous if both are. */
export function inOrder(first: Gate, second: Gate): Gate {
  return (context) => {
    const passed = first(context);
    return passed instanceof Promise ? passed.then(() => second(context)) : second(context);
  };
}
