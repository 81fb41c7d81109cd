/** `traceparent` of W3C Trace Context, section 3.2: to what trace a request belongs. */
export function traceIdOf(traceparent: unknown): string | undefined {
  const [, version, traceId, parentId, rest] = form.exec(String(traceparent)) ?? [];
  if (version === undefined || version === "ff") return undefined;
  if (version === "00" && rest !== "") return undefined; // later versions may say more
  return allZero.test(traceId ?? "") || allZero.test(parentId ?? "") ? undefined : traceId;
}

const form = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}((?:-.*)?)$/;
const allZero = /^0+$/;
