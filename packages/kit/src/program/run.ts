import { once } from "node:events";
import module from "node:module";
import { isatty } from "node:tty";
import type { Log } from "connect-gateway/logging";
import { listenForStop, notifyReady, shortenCollections } from "../command/process.ts";
import { isThisMachine } from "../settings/place.ts";
import type { StartedProgram } from "./start.ts";

/** What differs among programs. */
export interface Running {
  /** Prints that the server runs. */
  announce(): void | Promise<void>;
  /** Reads again what operators may have changed, beside tokens and keys. */
  reload?(): void | Promise<void>;
  /** Resolves if it can serve no more. */
  readonly failed?: Promise<Error>;
}

/** Runs until a signal ends it, or it fails; then drains. A second signal ends the process at once. */
export async function runUntilStopped(program: StartedProgram, running: Running): Promise<void> {
  const { log, settings, authenticator } = program;
  async function reload(): Promise<void> {
    await running.reload?.();
    await authenticator?.reload();
    log.info("SIGHUP: tokens and keys were read again");
  }
  // Before anything says that the server runs.
  // A terminal that closes sends SIGHUP to end what runs in it. Elsewhere it asks for a reload.
  using stop = listenForStop(isatty(0) ? undefined : () => void reload());
  shortenCollections();
  await running.announce();
  const { host, tls, socketPath } = settings;
  const isPublic = socketPath === undefined && !isThisMachine(host);
  if (isPublic && tls === undefined) {
    log.warn(
      `${host} is served without TLS: networks can read tokens and messages. Set --tls-cert and --tls-key, or terminate TLS in a proxy`,
    );
  }
  if (isPublic && authenticator === undefined && tls?.clientCaFile === undefined) {
    log.warn(`${host} is served without tokens: anybody may call. Set --token-file or --jwks-url`);
  }
  notifyReady((error) => log.warn("systemd was not told of the start", error));
  // Now, because the process may end without running exit handlers.
  module.flushCompileCache();
  await drainWhenStopped(program, stop.signal, running.failed).finally(endSoon);
}

async function drainWhenStopped(
  { log, settings, close }: StartedProgram,
  stop: AbortSignal,
  failed: Promise<Error> | undefined,
): Promise<void> {
  const stopped = stop.aborted ? Promise.resolve() : once(stop, "abort");
  const ends: Promise<unknown>[] = failed === undefined ? [stopped] : [stopped, failed];
  const failure = await Promise.race(ends);
  if (stop.aborted) log.info(`${stop.reason}: draining`);
  else log.error("the service has failed: draining", failure);
  endIfStuck(log, settings.drainTimeoutMs);
  await close();
  if (!stop.aborted) throw failure;
  log.info("stopped");
}

/**
 * Ends the process once its exit code is known. The exporter of spans may wait for a collector that
 * does not answer, and cannot be stopped.
 */
function endSoon(): void {
  setImmediate(() => process.exit());
}

/** How long after the drain timeout a stuck process is ended, in ms. */
export const stuckGraceMs = 2000;

/**
 * A disk that hangs blocks the thread that writes to it, and with it a clean shutdown. All requests
 * have ended by then, and confirmed plants are durable.
 */
function endIfStuck(log: Log, drainTimeoutMs: number): void {
  setTimeout(() => {
    log.error("the server hangs: the process kills itself");
    process.kill(process.pid, "SIGKILL");
  }, drainTimeoutMs + stuckGraceMs).unref();
}
