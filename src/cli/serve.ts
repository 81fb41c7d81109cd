import { Command, InvalidArgumentError, Option } from "commander";
import { parseTokenList } from "../auth/settings.ts";
import { defaultLimits, type Limits } from "../server/limits.ts";
import type { ServerOptions } from "../server/settings.ts";
import { SettingsError } from "../server/settings-error.ts";
import { type RunningServer, startServer } from "../server/start.ts";
import { flagName } from "./flag-name.ts";
import { welcome } from "./welcome.ts";

interface ServeFlags extends Limits {
  readonly host: string;
  readonly port: number;
  readonly basePath: string;
  readonly store: string;
  readonly tokenFile: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly jwksUrl?: string;
  readonly jwtIssuer?: string;
  readonly jwtAudience?: string;
  readonly drainTimeoutMs: number;
  readonly threads: number;
  readonly health: Switch;
  readonly reflection: Switch;
  readonly corsOrigin: readonly string[];
}

type Switch = "on" | "off";

/** `plant-store serve`: runs until SIGTERM or SIGINT, then drains. */
export function createServeCommand(): Command {
  const command = new Command("serve").description("Run the store.");
  for (const option of serveOptions()) command.addOption(option);
  return command.action(async (flags: ServeFlags) => {
    const server = await startServer(optionsFrom(flags));
    process.stdout.write(welcome(server));
    await untilStopped(server);
  });
}

function serveOptions(): Option[] {
  return [
    option("host <address>", "address to listen on").default("127.0.0.1"),
    count("port", "port to listen on; 0 takes a free one", 8080),
    option("store <url>", "where plants are kept").default("sqlite:./data/plants.db"),
    option("base-path <path>", "path before every path, for example /api").default(""),
    option("token-file <path>", "where bearer tokens are kept").default("./data/tokens"),
    option("tls-cert <file>", "certificate chain in PEM: serve TLS"),
    option("tls-key <file>", "its private key in PEM"),
    option("jwks-url <url>", "accept JWTs signed by a key of this set"),
    option("jwt-issuer <iss>", "the iss that a JWT must have"),
    option("jwt-audience <aud>", "the aud that a JWT must have"),
    ...Object.entries(limitDescriptions).map(([name, description]) =>
      count(flagName(name), description, defaultLimits[name as keyof Limits]),
    ),
    count("threads", "threads that share the port; more than one on Linux alone", 1),
    count("drain-timeout-ms", "how long the last requests may take at the end, in ms", 10_000),
    onOff("health", "serve /healthz, /readyz and grpc.health.v1, without a token"),
    onOff("reflection", "serve grpc.reflection, without a token"),
    option("cors-origin <list>", "origins whose pages may call, separated by commas; * for any")
      .default([], "none")
      .argParser(parseList),
  ];
}

/** A flag that the environment can set as well: `--base-path` is `PLANT_STORE_BASE_PATH`. */
function option(flag: string, description: string): Option {
  const created = new Option(`--${flag}`, description);
  return created.env(`PLANT_STORE_${created.name().replaceAll("-", "_").toUpperCase()}`);
}

function count(flag: string, description: string, byDefault: number): Option {
  return option(`${flag} <number>`, description).default(byDefault).argParser(parseCount);
}

function onOff(flag: string, description: string): Option {
  return option(`${flag} <on|off>`, description).choices(["on", "off"]).default("on");
}

const limitDescriptions: Record<keyof Limits, string> = {
  bodyBytesMax: "largest request body, in bytes",
  headerBytesMax: "largest request headers, in bytes",
  requestTimeoutMs: "how long a client may take to send a request, in ms",
  idleTimeoutMs: "how long a connection may rest, in ms",
  connectionsMax: "open connections",
  streamsMax: "requests under way on one HTTP/2 connection",
};

function optionsFrom(flags: ServeFlags): ServerOptions {
  const {
    host,
    port,
    basePath,
    store,
    drainTimeoutMs,
    threads,
    health,
    reflection,
    corsOrigin,
    ...rest
  } = flags;
  const { tokenFile, jwksUrl, jwtIssuer, jwtAudience, tlsCert, tlsKey, ...limits } = rest;
  return {
    host,
    port,
    basePath,
    store,
    auth: { tokenFile, tokens: takeTokens(), jwksUrl, jwtIssuer, jwtAudience },
    tls: tlsFiles(tlsCert, tlsKey),
    drainTimeoutMs,
    threads,
    health: health === "on",
    reflection: reflection === "on",
    corsOrigins: corsOrigin,
    limits,
  };
}

function tlsFiles(certFile: string | undefined, keyFile: string | undefined) {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
  const missing = certFile === undefined ? "tlsCert" : "tlsKey";
  throw new SettingsError(missing, "is missing: a certificate and its key go together");
}

/** The tokens of the environment, which no child process needs to inherit. */
function takeTokens(): readonly string[] {
  const text = process.env["PLANT_STORE_TOKENS"] ?? "";
  delete process.env["PLANT_STORE_TOKENS"];
  return parseTokenList(text);
}

function parseCount(value: string): number {
  if (!/^\d{1,10}$/.test(value)) throw new InvalidArgumentError("It must be a whole number.");
  return Number(value);
}

function parseList(value: string): readonly string[] {
  return value.split(",").map((item) => item.trim());
}

/** Resolves after a drain; a second signal ends the process at once. */
async function untilStopped(server: RunningServer): Promise<void> {
  const { log, drainTimeoutMs } = server.settings;
  const stop = Promise.withResolvers<NodeJS.Signals>();
  process.on("SIGTERM", stop.resolve);
  process.on("SIGINT", stop.resolve);
  const reason = await Promise.race([stop.promise, server.failed]);
  process.off("SIGTERM", stop.resolve);
  process.off("SIGINT", stop.resolve);
  if (typeof reason === "string") log.info(`${reason}: draining`);
  else log.error("the service has failed: draining", reason);
  endIfStuck(drainTimeoutMs);
  await server.close();
  if (typeof reason !== "string") throw reason;
  log.info("stopped");
}

/** How long after the drain's limit a process that is stuck ends, in ms. */
export const stuckGraceMs = 5000;

/**
 * A disk that hangs holds up the thread that writes to it, and with it every
 * orderly end of the process. What was acknowledged is safe by then.
 */
function endIfStuck(drainTimeoutMs: number): void {
  setTimeout(() => process.kill(process.pid, "SIGKILL"), drainTimeoutMs + stuckGraceMs).unref();
}
