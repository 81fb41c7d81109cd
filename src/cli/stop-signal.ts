const signals = ["SIGINT", "SIGTERM"] as const;

/** A signal that follows within this time is the same one, in ms. */
const repeatMs = 500;

/**
 * Aborts at the first SIGINT or SIGTERM, with its name as the reason. A second one ends the
 * process, as it would without. Ctrl-C often arrives twice at once: the terminal sends it to
 * every process in the foreground, and those that started this one pass it on.
 */
export function listenForStop(): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const stop = (name: NodeJS.Signals) => {
    if (controller.signal.aborted) return;
    controller.abort(name);
    setTimeout(ignore, repeatMs).unref();
  };
  const ignore = () => {
    for (const name of signals) process.off(name, stop);
  };
  for (const name of signals) process.on(name, stop);
  return { signal: controller.signal, [Symbol.dispose]: ignore };
}
