/**
 * How long to pause before the next try. The pause doubles with each failure and is random between
 * half of that and all of it, so that many processes do not come back at once.
 * @param tries How many tries have failed; at least 1.
 */
export function backoffMs(
  tries: number,
  { backoffMinMs, backoffMaxMs }: { readonly backoffMinMs: number; readonly backoffMaxMs: number },
): number {
  return Math.min(backoffMinMs * 2 ** (tries - 1), backoffMaxMs) * (0.5 + Math.random() / 2);
}
