/** The content of an `Authorization` header, for a server that accepts only bearer tokens. */
export type Authorization =
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
