import { execFile } from "node:child_process";
import { constants } from "node:os";
import v8 from "node:v8";

const signals = ["SIGINT", "SIGTERM", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGHUP"] as const;

/** A signal that follows within this time is the same one. */
const repeatMs = 500;

/** Ends process 1 of a container by signals: the system sends it only those that it handles. */
export function obeySignals(names: readonly (typeof signals)[number][] = signals): void {
  // By SIGUSR1, Node would open a debugger, through which every local user can run code.
  for (const name of names) if (process.pid === 1 || name === "SIGUSR1") process.on(name, endBy);
}

function endBy(name: NodeJS.Signals): void {
  process.exit(128 + constants.signals[name]);
}

/**
 * Aborts at the first signal that would end the process, with its name as the reason. A second one
 * ends it. Ctrl-C often arrives twice at once: from the terminal, and passed on by those that
 * started this process.
 * @param onHangup Called for each SIGHUP, which then stops nothing.
 */
export function listenForStop(onHangup?: () => void) {
  const controller = new AbortController();
  const stopping = signals.filter((name) => name !== "SIGHUP" || onHangup === undefined);
  const stop = (name: NodeJS.Signals) => {
    if (controller.signal.aborted) return;
    controller.abort(name);
    setTimeout(ignore, repeatMs).unref();
  };
  const ignore = () => {
    for (const name of stopping) process.off(name, stop);
    obeySignals(stopping);
  };
  for (const name of signals) process.off(name, endBy);
  for (const name of stopping) process.on(name, stop);
  if (onHangup !== undefined) process.on("SIGHUP", onHangup);
  return { signal: controller.signal, [Symbol.dispose]: ignore };
}

/** For `Type=notify`. Node has no datagrams on Unix sockets, so systemd's own program sends it. */
export function notifyReady(onError: (error: Error) => void): void {
  if (process.env["NOTIFY_SOCKET"] === undefined) return;
  execFile("systemd-notify", ["--ready"], (error) => {
    if (error !== null) onError(error);
  });
}

/** Shortens V8's pauses. Set before the start, these flags would make cached code invalid. */
export function shortenCollections(): void {
  // Objects of requests in the old generation keep younger ones alive until a full collection.
  v8.setFlagsFromString("--no-allocation-site-pretenuring");
  // node:http2 allocates header values outside the heap, which only a full collection frees, at
  // some 150 ns each. By default there is one every few seconds under load, of up to 0.2 s.
  v8.setFlagsFromString("--heap-growing-percent=20");
  // With so little room to grow, V8 would collect without a pause while buffers come and go, as in
  // streams. It begins when 70 % of the room is used, and at 90 % at once.
  v8.setFlagsFromString("--incremental-marking-soft-trigger=70");
  v8.setFlagsFromString("--incremental-marking-hard-trigger=90");
}
