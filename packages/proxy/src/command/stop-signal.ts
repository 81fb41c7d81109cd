const signals = ["SIGINT", "SIGTERM", "SIGQUIT", "SIGUSR2", "SIGHUP"] as const;

/** A signal that follows within this time is the same one, in ms. */
const repeatMs = 500;

/**
 * Aborts at the first signal that would end the process, with its name as the reason. A second one
 * ends it, as it would without. Ctrl-C often arrives twice at once: the terminal sends it to
 * every process in the foreground, and those that started this one pass it on.
 *
 * @param onHangup Called for each SIGHUP, which then stops nothing.
 */
export function listenForStop(
  onHangup?: () => void,
): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const stopping = signals.filter((name) => name !== "SIGHUP" || onHangup === undefined);
  const stop = (name: NodeJS.Signals) => {
    if (controller.signal.aborted) return;
    controller.abort(name);
    setTimeout(ignore, repeatMs).unref();
  };
  const ignore = () => {
    for (const name of stopping) process.off(name, stop);
  };
  for (const name of stopping) process.on(name, stop);
  if (onHangup !== undefined) process.on("SIGHUP", onHangup);
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      ignore();
      if (onHangup !== undefined) process.off("SIGHUP", onHangup);
    },
  };
}
