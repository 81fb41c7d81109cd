/** Serves upstreams at a port until SIGTERM or SIGINT, then drains. */
import { methodNameOf } from "connect-gateway";
import { createHealthHandlers } from "connect-gateway/health";
import { logFailures } from "connect-gateway/logging";
import { serve } from "connect-gateway/server";
import { createStderrLog } from "connect-gateway-kit/logging";
import {
  runUntilStopped,
  type StartedProgram,
  schemeOf,
  startProgram,
} from "connect-gateway-kit/program";
import { serveOptions } from "connect-gateway-kit/program/serve-options";
import { describeReach, localUrl } from "connect-gateway-kit/settings";
import { createLiveServices } from "./live-services.ts";
import { proxyProgram, restOptionsOf, type Settings } from "./settings.ts";
import { openUpstreams } from "./upstream.ts";

/** More than most servers have; the methods past these share a series. */
const naming = { prefix: "connect_gateway", nameOf: methodNameOf, namesMax: 256 };

/** @throws {CommandFailure} {@link RuleError}, or the system's error if it cannot listen. */
export async function serveUpstreams(settings: Settings, version: string): Promise<void> {
  const log = createStderrLog(settings.logFormat);
  const program = await startProgram({ name: proxyProgram.name, version, settings, log, naming });
  try {
    const { services, port } = await open(program, settings);
    const announce = () => {
      const place = placeOf(settings, port);
      process.stdout.write(`listening on ${place}\n`);
      if (settings.mcp.length > 0) process.stdout.write(`MCP at ${place}/mcp\n`);
      if (program.metricsUrl) process.stdout.write(`metrics on ${program.metricsUrl}\n`);
    };
    const tokenCommand = `${program.name} token create NAME --token-file ${settings.auth.tokenFile}`;
    await runUntilStopped(program, { announce, tokenCommand, reload: services.reload });
  } finally {
    // After a start that failed, too: the process ends when nothing is open any more.
    await program.close();
  }
}

async function open(program: StartedProgram, settings: Settings) {
  const { log, tracing, metrics } = program;
  const upstreams = openUpstreams(settings, (error) =>
    log.warn("the old certificates for the upstreams stay in use", error),
  );
  for (const { close } of upstreams) program.defer(close);
  const services = await createLiveServices({ program, settings, upstreams });
  const { common, own } = serveOptions(program);
  const { isReady } = services;
  const { renderError } = restOptionsOf(settings);
  const { socketMode, pathPrefix = "", maxTimeoutMs } = settings;
  const prefixes = [...new Set(["", pathPrefix])];
  const probes = { isReady, prefixes, ...(renderError && { renderError }) };
  const first = services.first();
  const server = await serve({
    ...common,
    ...own,
    exposePeerAddress: true,
    requestPathPrefix: pathPrefix,
    ...(socketMode !== undefined && { socketMode: Number.parseInt(socketMode, 8) }),
    ...(maxTimeoutMs > 0 && { maxTimeoutMs }),
    interceptors: [logFailures(log), ...(tracing === undefined ? [] : [tracing.passOn])],
    onUnknownType: services.learn,
    ...first.options,
    handlers: ({ draining }) =>
      new Map([
        ...createHealthHandlers({ ...probes, draining }),
        ...prefixes.flatMap(services.handlersAt),
      ]),
    notFoundError: services.notFoundError,
  });
  let isDraining = false;
  if (metrics !== undefined) metrics.isReady = () => !isDraining && isReady("");
  program.defer(() => {
    isDraining = true;
    return server.drain(settings.drainTimeoutMs);
  });
  first.commit();
  services.watch(server);
  return { services, port: server.address.port };
}

function placeOf(settings: Settings, port: number): string {
  const { socketPath, host } = settings;
  if (socketPath !== undefined) return `unix:${socketPath}`;
  return localUrl(schemeOf(settings), host, port) + describeReach(host);
}
