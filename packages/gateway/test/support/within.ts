/**
 * Waits for an event that must come. A test that waits forever reports only that it timed out; this
 * reports for what.
 */
export async function within<T>(what: string, event: Promise<T>, timeoutMs = 8000): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`${what}: did not come within ${timeoutMs} ms`)),
    timeoutMs,
  );
  try {
    return await Promise.race([event, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
