/** Serves upstreams at a port until SIGTERM or SIGINT, then drains. */
import { once } from "node:events";
import { isatty } from "node:tty";
import { Code, ConnectError } from "@connectrpc/connect";
import { BodyBudget, compressionGzip } from "connect-gateway";
import { addHealth, createHealthHandlers, Health } from "connect-gateway/health";
import { type Log, logFailures } from "connect-gateway/logging";
import { addReflection, ServerReflection } from "connect-gateway/reflection";
import type { RuleError } from "connect-gateway/rules";
import { type ServedOptions, serve } from "connect-gateway/server";
import { type Authenticator, hasAuth, openAuthenticator } from "connect-gateway-kit/auth";
import {
  CommandFailure,
  listenForStop,
  notifyReady,
  shortenCollections,
} from "connect-gateway-kit/command";
import { createObservers, createStderrLog } from "connect-gateway-kit/logging";
import { openTracing, type Tracing } from "connect-gateway-kit/tracing";
import { type ReflectionWatch, watchReflection } from "../services/index.ts";
import { createGate, type Measuring, openMetrics } from "./metrics.ts";
import { createReference, describeServed } from "./reference.ts";
import { readRules } from "./rules.ts";
import {
  createRoutes,
  createServed,
  createTools,
  type Part,
  type Served,
  type Sources,
} from "./served.ts";
import { restOptionsOf, type Settings } from "./settings.ts";
import { openUpstreams, readDescriptorFile, type Upstream, watchHealth } from "./upstream.ts";

/** @throws {CommandFailure} {@link RuleError}, or the system's error if it cannot listen. */
export async function serveUpstreams(settings: Settings, version: string): Promise<void> {
  const log = createStderrLog(settings.logFormat);
  const closers: Closer[] = [];
  try {
    await serveUntilStopped(settings, version, log, closers);
  } finally {
    // After a start that failed, too: the process ends when nothing is open any more.
    for (const close of closers.reverse()) await close();
  }
  log.info("stopped");
}

type Closer = () => void | Promise<void>;

/** @param closers Resources to close at the end, the last first. */
async function serveUntilStopped(
  settings: Settings,
  version: string,
  log: Log,
  closers: Closer[],
): Promise<void> {
  const rules = settings.rules === undefined ? [] : readRules(settings.rules);
  const { descriptors: file } = settings;
  const upstreams = openUpstreams(settings, rules, (error) =>
    log.warn("the old certificates for the upstreams stay in use", error),
  );
  for (const { close } of upstreams) closers.push(close);
  // A terminal that closes sends SIGHUP to end what runs in it. Elsewhere it asks for a reload.
  let reload = async () => {}; // nothing is read yet
  using stop = listenForStop(isatty(0) ? undefined : () => void reload());
  const health = upstreams.map(watchHealth);
  for (const one of health) closers.push(one.close);
  const measuring = await openMetrics(settings, version);
  if (measuring !== undefined) closers.push(measuring.close);
  const authenticator = hasAuth(settings.auth)
    ? await openAuthenticator(settings.auth, log.warn)
    : undefined;
  const scheme = settings.tls === undefined ? "http" : "https";
  const program = { name: "connect-gateway-proxy", version };
  const tracing = await openTracing({ program, scheme, log });
  if (tracing !== undefined) closers.push(tracing.close);
  let watches: readonly ReflectionWatch[] = [];
  const unknown = new Set<string>();
  const common = {
    ...commonOptions(settings, log, authenticator, measuring, tracing),
    onUnknownType(typeName: string) {
      for (const watch of watches) watch.learn(typeName);
      if (unknown.has(typeName) || unknown.size === unknownMax) return;
      unknown.add(typeName);
      log.warn(`a google.protobuf.Any of ${typeName} has no JSON: no descriptor has that type`);
    },
  };
  const reference = createReference();
  // By reflection they are known later, and may change.
  let current: Served | undefined;
  const isAll = (served: Served | undefined) => served?.parts.length === upstreams.length;
  const isComplete = () => isAll(current);
  const isReady = () => isComplete() && health.every((one) => one.isReady());
  let told = new Set<string>();

  /** The next configuration, and a callback once it is served. */
  function prepare(served: Served | undefined) {
    const leftOut = new Set<string>();
    const { services = [], registry, warnings = [] } = served ?? {};
    const names = new Set(services.map(({ typeName }) => typeName));
    const methods = services.flatMap((service) => service.methods);
    const known = new Set(methods.map(({ parent, name }) => `${parent.typeName}.${name}`));
    const rest = {
      ...restOptionsOf(settings),
      // Other rules may be for services that become known later.
      rules: isAll(served) ? rules : rules.filter(({ selector }) => known.has(selector)),
      onRuleError(error: RuleError) {
        // A file and its rules are complete at startup, so errors stop it.
        const isOwn = rules.some(({ selector }) => selector === error.selector);
        if (file !== undefined && isOwn) throw error;
        leftOut.add(error.message);
      },
    };
    const routes = served && createRoutes(served, settings, measuring?.onDroppedMetadata);
    const options: ServedOptions = {
      routes(router, { draining }) {
        routes?.(router);
        if (!names.has(Health.typeName)) addHealth(router, { isReady, draining, services }, open);
        if (!names.has(ServerReflection.typeName)) addReflection(router, { draining }, open);
      },
      rest,
      jsonOptions: { ...(registry && { registry }), alwaysEmitImplicit: settings.rest.zeroValues },
      ...createTools(settings.mcp, version, served, (problem) => {
        if (file !== undefined) throw new CommandFailure(2, problem);
        if (isAll(served)) leftOut.add(problem);
      }),
    };
    const commit = () => {
      current = served;
      if (settings.openapi && served !== undefined) {
        try {
          reference.show(describeServed(services, rest));
        } catch (error) {
          log.warn("the OpenAPI document stays as it was", error);
        }
      }
      const all = new Set([...leftOut, ...warnings]);
      for (const one of all) if (!told.has(one)) log.warn(one);
      told = all;
      measuring?.leftOut(leftOut.size);
    };
    return { options, commit };
  }

  const { bodyBytesMax, messageValuesMax, bodyBudgetBytes: _, ...ofPort } = settings.limits;
  const { connectionsPerAddressMax: perAddress, ...limits } = ofPort;
  const { renderError } = restOptionsOf(settings);
  const errors = renderError && { renderError };
  const first = prepare(file === undefined ? undefined : readServed(file, { upstreams, rules }));
  const { socketPath, host, port } = settings;
  const server = await serve({
    ...common,
    ...first.options,
    ...(socketPath === undefined ? { host, port } : { path: socketPath }),
    tls: settings.tls,
    readMaxBytes: bodyBytesMax,
    readMaxValues: messageValuesMax,
    limits: { ...limits, ...(perAddress > 0 && { connectionsPerAddressMax: perAddress }) },
    onTlsError: (error) => log.warn("the old certificate stays in use", error),
    handlers: ({ draining }) =>
      new Map([
        ...createHealthHandlers({ isReady, draining, ...errors }),
        ...(settings.openapi ? reference.handlers : []),
      ]),
    notFoundError: () => (isComplete() ? undefined : untold),
  });
  first.commit();

  function use(served: Served): void {
    const next = prepare(served);
    server.update(next.options);
    next.commit();
  }

  if (file === undefined) watches = watchAll(upstreams, settings, rules, log, use);
  for (const watch of watches) closers.push(watch.close);
  process.stdout.write(`listening on ${placeOf(settings, server.address.port)}\n`);
  if (measuring !== undefined) {
    measuring.metrics.isReady = () => !stop.signal.aborted && isReady();
    const plain = { socketPath: undefined, host: settings.adminHost, tls: undefined };
    process.stdout.write(`metrics on ${placeOf(plain, measuring.port)}/metrics\n`);
  }
  shortenCollections();
  notifyReady((error) => log.warn("systemd was not told of the start", error));
  const isLocal = host === "localhost" || host === "::1" || host.startsWith("127.");
  if (settings.tls === undefined && socketPath === undefined && !isLocal) {
    log.warn(
      `${host} is served without TLS: networks can read tokens and messages. Set --tls-cert and --tls-key, or terminate TLS in a proxy`,
    );
  }

  reload = async () => {
    log.info("SIGHUP: reading services, tokens and keys again");
    for (const watch of watches) watch.refresh();
    if (file !== undefined) {
      try {
        use(readServed(file, { upstreams, rules }));
      } catch (error) {
        log.warn("the old services stay in use", error);
      }
    }
    await authenticator?.reload();
  };

  if (!stop.signal.aborted) await once(stop.signal, "abort");
  log.info(`${stop.signal.reason}: draining`);
  await server.drain(settings.drainTimeoutMs);
}

/** The maximum number of unknown types that are logged. */
const unknownMax = 100;

function placeOf(
  { socketPath, host, tls }: Pick<Settings, "socketPath" | "host" | "tls">,
  port: number,
): string {
  if (socketPath !== undefined) return `unix:${socketPath}`;
  const scheme = tls === undefined ? "http" : "https";
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function readServed(file: string, sources: Omit<Sources, "parts">): Served {
  const descriptors = readDescriptorFile(file);
  const parts = sources.upstreams.map((upstream) => ({ upstream, descriptors }));
  return createServed({ ...sources, parts });
}

/**
 * Serves the services of the upstreams, as soon as the first one has reported them, and again after
 * each change.
 */
function watchAll(
  upstreams: readonly Upstream[],
  settings: Settings,
  rules: Served["rules"],
  log: Log,
  use: (served: Served) => void,
): readonly ReflectionWatch[] {
  const parts = new Map<Upstream, Part>();
  return upstreams.flatMap((upstream) => {
    const { grpc: transport, place } = upstream;
    if (transport === undefined) return []; // it has no reflection
    const { url, services } = place;
    let failure: string | undefined;
    const watch = watchReflection({
      transport,
      services,
      intervalMs: settings.reflectionIntervalMs,
      onChange(descriptors) {
        const part = { upstream, descriptors, onUnimplemented: () => watch.refresh() };
        const next = new Map(parts).set(upstream, part);
        use(createServed({ parts: [...next.values()], upstreams, rules }));
        parts.set(upstream, part);
        failure = undefined;
        const names = descriptors.services.map(({ typeName }) => typeName).join(", ");
        log.info(`${url} serves ${names}`);
      },
      onError(error) {
        // It is tried again each second.
        if (failure === String(error)) return;
        failure = String(error);
        log.warn(`cannot read the services of ${url}`, error);
      },
    });
    return watch;
  });
}

/** An unknown path may be served once all services are known. */
const untold = new ConnectError(
  "the upstream has not listed its services yet; try again later",
  Code.Unavailable,
);

/** Health and reflection need no token. */
const open = { requestGate() {} };

function commonOptions(
  settings: Settings,
  log: Log,
  authenticator: Authenticator | undefined,
  measuring: Measuring | undefined,
  tracing: Tracing | undefined,
) {
  const { cors, limits } = settings;
  const bodyBudget = new BodyBudget({ bytesMax: limits.bodyBudgetBytes });
  measuring?.metrics.watchBodies(bodyBudget);
  const onError = (error: unknown) => log.error("cannot make a response", error);
  const observers = createObservers(settings, measuring?.metrics, tracing, onError);
  const requestGate = createGate(settings, authenticator);
  return {
    ...(cors && { cors }),
    ...observers,
    ...(requestGate && { requestGate }),
    bodyBudget,
    acceptCompression: [compressionGzip],
    exposePeerAddress: true,
    interceptors: [logFailures(log), ...(tracing === undefined ? [] : [tracing.passOn])],
    onError,
  };
}
