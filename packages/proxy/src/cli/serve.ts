/** Serves upstreams at a port until SIGTERM or SIGINT, then drains. */
import { once } from "node:events";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  BodyBudget,
  type CallObserver,
  composeObservers,
  compressionGzip,
  gatewayNodeAdapter,
  type NodeHandler,
  refuseAll,
} from "connect-gateway";
import { addHealth, createHealthHandlers } from "connect-gateway/health";
import { type AccessEntry, createAccessLog, type Log, logFailures } from "connect-gateway/logging";
import { createOpenApiDocument } from "connect-gateway/openapi";
import { addReflection } from "connect-gateway/reflection";
import { type ServedOptions, serve } from "connect-gateway/server";
import { createLogger, createStderrLog } from "../logging/index.ts";
import { type ReflectionWatch, watchReflection } from "../services/index.ts";
import { type Measuring, openMetrics } from "./metrics.ts";
import { createReference } from "./reference.ts";
import { readRules } from "./rules.ts";
import { createRoutes, createServed, type Part, type Served } from "./served.ts";
import type { Settings } from "./settings.ts";
import { openUpstreams, readDescriptorFile, type Upstream, watchHealth } from "./upstream.ts";

/** @throws {CommandError} {@link RuleError}, or the system's error if it cannot listen. */
export async function serveUpstreams(settings: Settings, version: string): Promise<void> {
  const log = createStderrLog(settings.logFormat);
  const closers: Closer[] = [];
  try {
    await serveUntilStopped(settings, { version, log, closers });
  } finally {
    // After a start that failed, too: the process ends when nothing is open any more.
    for (const close of closers.reverse()) await close();
  }
  log.info("stopped");
}

/** Closes one thing that was opened. */
type Closer = () => void | Promise<void>;

interface Run {
  readonly version: string;
  readonly log: Log;
  /** What is to be closed at the end, the last first. */
  readonly closers: Closer[];
}

async function serveUntilStopped(settings: Settings, { version, log, closers }: Run) {
  const rules = settings.rules === undefined ? [] : readRules(settings.rules);
  const upstreams = openUpstreams(settings, (error) =>
    log.warn("the old certificates for the upstreams stay in use", error),
  );
  for (const { transport } of upstreams) closers.push(() => transport.close());
  const stopped = untilStopped();
  const health = upstreams.map(({ transport }) => watchHealth(transport));
  for (const one of health) closers.push(one.close);
  const measuring = await openMetrics(settings.admin, version);
  if (measuring !== undefined) closers.push(measuring.close);
  const common = commonOptions(settings, log, measuring);
  const reference = createReference();
  // By reflection they are known later, and may change.
  let current =
    settings.descriptors === undefined ? undefined : readServed(settings, upstreams, rules);
  const isReady = () => current !== undefined && health.every((one) => one.isReady());

  function optionsOf(served: Served | undefined): ServedOptions {
    const { requestMetadata } = settings;
    const routes = served && createRoutes(served, requestMetadata, measuring?.onDroppedMetadata);
    const { services = [], registry } = served ?? {};
    return {
      routes(router, { draining }) {
        routes?.(router);
        addHealth(router, { isReady, draining, services });
        // Who has given a file may not want its services to be told.
        if (settings.descriptors === undefined) addReflection(router, { services, draining });
      },
      rest: { rules: served === undefined ? [] : rules },
      ...(registry && { jsonOptions: { registry } }),
    };
  }

  if (settings.openapi && current !== undefined) reference.show(describe(current));
  const server = await serve({
    ...common,
    ...optionsOf(current),
    host: settings.host,
    port: settings.port,
    tls: settings.tls,
    readMaxBytes: settings.bodyBytesMax,
    limits: { requestTimeoutMs: settings.requestTimeoutMs },
    onTlsError: (error) => log.warn("the old certificate stays in use", error),
    handlers: ({ draining }) =>
      new Map([
        ...createHealthHandlers({ isReady, draining }),
        ...(settings.openapi ? reference.handlers : []),
      ]),
    fallback: beforeServices(gatewayNodeAdapter({ ...common, routes() {} }), () => current),
    traffic: measuring?.metrics.traffic,
  });

  function use(served: Served): void {
    const document = settings.openapi ? describe(served) : undefined;
    server.update(optionsOf(served));
    current = served;
    if (document !== undefined) reference.show(document);
  }

  const watches =
    settings.descriptors === undefined ? watchAll(upstreams, { rules, use, log }) : [];
  for (const watch of watches) closers.push(watch.close);
  measuring?.metrics.watchReadiness(isReady);
  const scheme = settings.tls === undefined ? "http" : "https";
  const host = settings.host.includes(":") ? `[${settings.host}]` : settings.host;
  process.stdout.write(`listening on ${scheme}://${host}:${server.address.port}\n`);
  if (measuring !== undefined) process.stdout.write(`metrics on port ${measuring.port}\n`);
  log.info(`${await stopped}: draining`);
  await server.drain(settings.drainTimeoutMs);
}

function readServed(
  { descriptors: file = "" }: Settings,
  upstreams: readonly Upstream[],
  rules: Served["rules"],
): Served {
  const descriptors = readDescriptorFile(file);
  return createServed(
    upstreams.map((upstream) => ({ upstream, descriptors })),
    rules,
  );
}

function describe({ services, rules }: Served) {
  // Upstreams may have services and messages of one name, also later.
  return createOpenApiDocument(services, { names: "full", rest: { rules } });
}

interface Watched {
  readonly rules: Served["rules"];
  readonly use: (served: Served) => void;
  readonly log: Log;
}

/** Serves what all upstreams tell, once each has, and again when one tells something else. */
function watchAll(
  upstreams: readonly Upstream[],
  { rules, use, log }: Watched,
): readonly ReflectionWatch[] {
  const parts = new Map<Upstream, Part>();
  return upstreams.map((upstream) => {
    const { url, services } = upstream.place;
    let failure: string | undefined;
    const watch = watchReflection({
      transport: upstream.transport,
      services,
      onChange(descriptors) {
        const before = parts.get(upstream);
        parts.set(upstream, { upstream, descriptors, onUnimplemented: () => watch.refresh() });
        try {
          if (parts.size === upstreams.length) use(createServed([...parts.values()], rules));
        } catch (error) {
          if (before === undefined) parts.delete(upstream);
          else parts.set(upstream, before);
          throw error;
        }
        failure = undefined;
        const names = descriptors.services.map(({ typeName }) => typeName).join(", ");
        log.info(`${url} serves ${names}`);
      },
      onError(error) {
        // It is tried again each second.
        if (failure === String(error)) return;
        failure = String(error);
        log.warn(`the services of ${url} could not be read`, error);
      },
    });
    return watch;
  });
}

/** What is not served: before the services are known, all is unavailable; after that, not found. */
function beforeServices(notFound: NodeHandler, current: () => unknown): NodeHandler {
  const message = "the upstream has not told its services yet";
  const unavailable = refuseAll(new ConnectError(message, Code.Unavailable));
  return (...node) => (current() === undefined ? unavailable : notFound)(...node);
}

function commonOptions(settings: Settings, log: Log, measuring: Measuring | undefined) {
  const { corsOrigins } = settings;
  const bodyBudget = new BodyBudget({ bytesMax: settings.bodyBudgetBytes });
  measuring?.metrics.watchBodies(bodyBudget);
  const onError = (error: unknown) => log.error("a response could not be made", error);
  const observer = composeObservers(createObservers(settings, measuring), onError);
  return {
    ...(corsOrigins.length > 0 && { cors: { origins: corsOrigins } }),
    ...(observer && { observer }),
    bodyBudget,
    acceptCompression: [compressionGzip],
    exposePeerAddress: true,
    interceptors: [logFailures(log)],
    onError,
  };
}

function createObservers(
  { accessLog, logFormat }: Settings,
  measuring: Measuring | undefined,
): CallObserver[] {
  const observers: CallObserver[] = measuring === undefined ? [] : [measuring.metrics.calls];
  if (accessLog !== "off") {
    const logger = createLogger(logFormat);
    const write = (entry: AccessEntry) => logger.info(entry, "request");
    observers.push(createAccessLog({ write, isErrorsOnly: accessLog === "errors" }));
  }
  return observers;
}

/** The name of the first signal that asks for the end. Others change nothing: a drain has its limit. */
async function untilStopped(): Promise<string> {
  const signals = ["SIGINT", "SIGTERM"] as const;
  return await Promise.race(
    signals.map(async (name) => {
      await once(process, name);
      process.on(name, () => {});
      return name;
    }),
  );
}
