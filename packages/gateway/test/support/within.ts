/** How long a test waits for what must come, in ms. Events end the waiting; a busy machine is late. */
export const patienceMs = 60_000;

/**
 * Waits for an event that must come. A test that waits forever reports only that it timed out; this
 * reports for what.
 */
export async function within<T>(what: string, end: Promise<T>, timeoutMs = patienceMs): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`${what}: did not come within ${timeoutMs} ms`)),
    timeoutMs,
  );
  try {
    return await Promise.race([end, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
