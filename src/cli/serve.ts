import { once } from "node:events";
import module from "node:module";
import { isatty } from "node:tty";
import { Command } from "commander";
import { needsFirstToken } from "connect-gateway-kit/auth";
import { listenForStop, notifyReady, shortenCollections } from "connect-gateway-kit/command";
import { type RunningServer, startServer } from "../server/start.ts";
import { assertTokenFile } from "./output-file.ts";
import { addSettingFlags, type Flags, readSettings } from "./settings.ts";

/** `plant-store serve`: runs until a signal ends it, then drains. */
export function createServeCommand(): Command {
  const command = new Command("serve").description("Run the server.");
  return addSettingFlags(command).action(async (flags: Flags) => {
    const { options, settings, use } = await readSettings(flags);
    if (settings.auth.tokenFile !== undefined) assertTokenFile(settings.auth.tokenFile);
    // A journal, docker logs or a file would keep the token.
    const showsToken = process.stdout.isTTY === true && settings.logFormat !== "json";
    const server = await use(() => startServer({ ...options, createsFirstToken: showsToken }));
    // Before anything says that the server runs.
    // A terminal that closes sends SIGHUP to end what runs in it. Elsewhere it asks for a reload.
    using stop = listenForStop(isatty(0) ? undefined : () => void reload(server));
    shortenCollections();
    await tellStart(server);
    notifyReady((error) => server.settings.log.warn("systemd was not told of the start", error));
    // Now, because the process may end without running exit handlers.
    module.flushCompileCache();
    await untilStopped(server, stop.signal).finally(endSoon);
  });
}

async function tellStart(server: RunningServer): Promise<void> {
  const { settings } = server;
  const { listeningEvent, startWarnings, welcome } = await import("./welcome.ts");
  if (settings.logFormat === "json") {
    const { createLogger } = await import("connect-gateway-kit/logging");
    createLogger("json").info(listeningEvent(server), "listening");
  } else {
    process.stdout.write(welcome(server));
  }
  const hasToken = server.firstToken !== undefined || !(await needsFirstToken(settings.auth));
  for (const warning of startWarnings(settings, hasToken)) settings.log.warn(warning);
}

async function reload(server: RunningServer): Promise<void> {
  await server.reload();
  server.settings.log.info("SIGHUP: tokens and keys were read again");
}

/** Resolves after a drain; a second signal ends the process at once. */
async function untilStopped(server: RunningServer, stop: AbortSignal): Promise<void> {
  const { log } = server.settings;
  const stopped = stop.aborted ? Promise.resolve() : once(stop, "abort");
  const reason = await Promise.race([stopped.then(() => String(stop.reason)), server.failed]);
  if (typeof reason === "string") log.info(`${reason}: draining`);
  else log.error("the service has failed: draining", reason);
  endIfStuck(server.settings);
  await server.close();
  if (typeof reason !== "string") throw reason;
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
function endIfStuck({ log, drainTimeoutMs }: RunningServer["settings"]): void {
  setTimeout(() => {
    log.error("the store hangs: the process kills itself");
    process.kill(process.pid, "SIGKILL");
  }, drainTimeoutMs + stuckGraceMs).unref();
}
