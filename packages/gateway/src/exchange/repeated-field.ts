/**
 * The field of a request that may be sent once and was sent more often, if one was. Node keeps
 * the first of them and drops the others without a word, proxies may keep the last: who is let
 * in, and what a body is, must not depend on that (RFC 9110 section 5.3).
 *
 * @param rawHeaders As Node has them: name, value, name, value, …
 */
export function findRepeatedField(rawHeaders: readonly string[]): string | undefined {
  let hasType = false;
  let hasAuthorization = false;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    // On the path of every request: most names have another length.
    if (name.length === contentType.length && isNamed(name, contentType)) {
      if (hasType) return "Content-Type";
      hasType = true;
    } else if (name.length === authorization.length && isNamed(name, authorization)) {
      if (hasAuthorization) return "Authorization";
      hasAuthorization = true;
    }
  }
  return undefined;
}

const contentType = "content-type";
const authorization = "authorization";

function isNamed(name: string, lowerCase: string): boolean {
  return name === lowerCase || name.toLowerCase() === lowerCase;
}
