/** Aborts at the first SIGINT or SIGTERM; the second ends the process, as it would without. */
export function listenForStop(): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const stop = () => {
    ignore();
    controller.abort();
  };
  const ignore = () => {
    for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, stop);
  };
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, stop);
  return { signal: controller.signal, [Symbol.dispose]: ignore };
}
