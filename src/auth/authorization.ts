/** What an `Authorization` header says, to a server that knows only bearer tokens. */
export type Authorization =
  /** No header, or an empty one. */
  | { readonly kind: "absent" }
  /** Credentials of another scheme (Basic, Digest, …): not for this server. */
  | { readonly kind: "other_scheme" }
  /** The Bearer scheme and nothing behind it. */
  | { readonly kind: "empty" }
  /** The Bearer scheme, without exactly one well-formed token behind it. */
  | { readonly kind: "malformed" }
  | { readonly kind: "bearer"; readonly token: string };

/**
 * Parses a header value by RFC 6750, section 2.1: `"Bearer" 1*SP b64token`.
 * The scheme is in any case (RFC 9110, section 11.1); the rest is exact, so two
 * headers that were joined with a comma, a quoted token and a tab are malformed.
 * How long a token may be is left to the limit of the headers that it comes in.
 */
export function parseAuthorization(value: string | null): Authorization {
  if (value === null || value === "") return absent;
  if (credentials.test(value)) {
    return { kind: "bearer", token: value.slice(value.lastIndexOf(" ") + 1) };
  }
  if (!scheme.test(value)) return otherScheme;
  return schemeAlone.test(value) ? empty : malformed;
}

/** Whether a text is a b64token: what a client can send behind `Bearer`. */
export function isBearerToken(text: string): boolean {
  return b64token.test(text);
}

const absent: Authorization = { kind: "absent" };
const otherScheme: Authorization = { kind: "other_scheme" };
const empty: Authorization = { kind: "empty" };
const malformed: Authorization = { kind: "malformed" };

// None of these can backtrack: each part ends where a character outside it begins.
const credentials = /^bearer +[A-Za-z0-9._~+/-]+=*$/i;
const schemeAlone = /^bearer *$/i;
const b64token = /^[A-Za-z0-9._~+/-]+=*$/;
/** The whole scheme is "bearer": no further character of an HTTP token (RFC 9110, 5.6.2). */
const scheme = /^bearer(?![!#$%&'*+.^_`|~0-9A-Za-z-])/i;
