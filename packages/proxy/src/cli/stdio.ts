/** Serves upstreams as tools on standard input and output, for programs that start their servers. */
import { gatewayFetchHandler } from "connect-gateway/fetch";
import { logFailures } from "connect-gateway/logging";
import { listenForStop } from "connect-gateway-kit/command/process";
import { CommandFailure } from "connect-gateway-kit/command/run";
import { serveMcp } from "connect-gateway-kit/command/stdio";
import { createStderrLog } from "connect-gateway-kit/logging";
import { reflectServices } from "../services/index.ts";
import { readRules } from "./rules.ts";
import { createServed, gatewayOptions, type Part, refuse } from "./served.ts";
import type { Settings } from "./settings.ts";
import { openUpstreams, readDescriptorFile, type Upstream } from "./upstream.ts";

/** Until the input ends. No token is asked for: the caller has started this process. */
export async function serveOnStdio(settings: Settings, version: string): Promise<void> {
  if (settings.mcp.length === 0) throw new CommandFailure(2, "--stdio needs --mcp");
  const log = createStderrLog(settings.logFormat);
  using services = await readServices(settings);
  using stop = listenForStop();
  const { served } = services;
  const { bodyBytesMax: readMaxBytes, messageValuesMax: readMaxValues } = settings.limits;
  const handler = gatewayFetchHandler({
    ...gatewayOptions(served, settings, {
      version,
      onUnknown: refuse,
      onRuleError: ({ message }) => log.warn(message),
    }),
    interceptors: [logFailures(log)],
    readMaxBytes,
    readMaxValues,
    onError: (error) => log.error("cannot make a response", error),
  });
  for (const warning of served.warnings) log.warn(warning);
  await serveMcp(handler, stop.signal);
}

/** The services of the upstreams, from a file or by reflection, which must be there. @throws {CommandFailure} */
export async function readServices(settings: Settings) {
  const rules = readRules(settings);
  const upstreams = openUpstreams(settings, () => {});
  const close = () => {
    for (const upstream of upstreams) upstream.close();
  };
  try {
    const { descriptors: file } = settings;
    const inFile = file === undefined ? undefined : readDescriptorFile(file);
    const describe = async (upstream: Upstream): Promise<Part> => {
      return { upstream, descriptors: inFile ?? (await reflect(upstream)) };
    };
    const parts = await Promise.all(upstreams.map(describe));
    return { served: createServed({ parts, upstreams, rules }), [Symbol.dispose]: close };
  } catch (error) {
    close();
    throw error;
  }
}

async function reflect({ place: { url, services }, grpc, ownHeaders: header }: Upstream) {
  if (grpc === undefined) throw new CommandFailure(2, `${url} has no reflection`);
  try {
    return await reflectServices(grpc, { services, header });
  } catch (cause) {
    throw new CommandFailure(1, `${url}: ${(cause as Error).message}`, { cause });
  }
}
