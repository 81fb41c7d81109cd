/**
 * Finds a repeated field that may occur only once in a request. Node keeps the first one and
 * silently drops the others, while proxies may keep the last. Authorization and the meaning of a
 * body must not depend on that (RFC 9110 section 5.3).
 *
 * @param rawHeaders In Node's form: name, value, name, value, …
 */
export function findRepeatedField(rawHeaders: readonly string[]): string | undefined {
  let hasType = false;
  let hasAuthorization = false;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    // Runs for every request: most names have another length.
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
