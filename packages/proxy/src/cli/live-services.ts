/** What a gateway serves for its upstreams: from a file at startup, or by reflection, which may change. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Registry } from "@prometheus-io/client";
import type { GrpcTransport } from "connect-gateway/client";
import { addHealth, Health } from "connect-gateway/health";
import { addReflection, ServerReflection } from "connect-gateway/reflection";
import type { ServedOptions, Server } from "connect-gateway/server";
import type { StartedProgram } from "connect-gateway-kit/program";
import { type ReflectionWatch, watchReflection } from "../services/index.ts";
import { createReference, describeServed } from "./reference.ts";
import { readRules } from "./rules.ts";
import { createServed, gatewayOptions, type Part, refuse, type Served } from "./served.ts";
import type { Settings } from "./settings.ts";
import { readDescriptorFile, type Upstream, watchHealth } from "./upstream.ts";

interface Sources {
  readonly program: StartedProgram;
  readonly settings: Settings;
  readonly upstreams: readonly Upstream[];
}

const toldMax = 100;

export async function createLiveServices({ program, settings, upstreams }: Sources) {
  const { log, version } = program;
  const { descriptors: file } = settings;
  const metrics = program.metrics && (await createProxyMetrics(program.metrics.registry));
  const health = new Map(upstreams.map((one) => [one, watchHealth(one, log)]));
  for (const { close } of health.values()) program.defer(close);
  const reference = createReference();
  const unknown = new Set<string>();
  let rules = readRules(settings);
  let watches: readonly ReflectionWatch[] = [];
  /** By reflection they are known later, and may change. */
  let current = serve([]);
  let told: ReadonlySet<string> = new Set();
  let server: Server | undefined;
  return { handlersAt, isReady, notFoundError, first, watch, learn, reload };

  function handlersAt(prefix: string) {
    return settings.openapi ? reference.handlersAt(prefix) : [];
  }

  /** A service is ready with its upstream, and the server with one of them: the others' calls get 503. */
  function isReady(service: string): boolean {
    const serves = ({ descriptors: { services } }: Part) =>
      service === "" || services.some(({ typeName }) => typeName === service);
    return current.parts.some((part) => health.get(part.upstream)?.isReady() && serves(part));
  }

  /** An unknown path may be served once all services are known. */
  function notFoundError(): ConnectError | undefined {
    const untold = "the upstream has not listed its services yet; try again later";
    return current.isWhole ? undefined : new ConnectError(untold, Code.Unavailable);
  }

  function first() {
    return prepare(file === undefined ? current : readFile(file));
  }

  function readFile(file: string): Served {
    const descriptors = readDescriptorFile(file);
    return serve(upstreams.map((upstream) => ({ upstream, descriptors })));
  }

  function serve(parts: readonly Part[]): Served {
    return createServed({ parts, upstreams, rules });
  }

  function use(served: Served): void {
    const { options, commit } = prepare(served);
    server?.update(options);
    commit();
  }

  /** The next configuration, and a callback once it is served. */
  function prepare(served: Served) {
    const { services, warnings, isWhole } = served;
    const leftOut = new Set<string>();
    const names = new Set(services.map(({ typeName }) => typeName));
    const gateway = gatewayOptions(served, settings, {
      version,
      onUnknown(problem) {
        if (file !== undefined) refuse(problem);
        if (isWhole) leftOut.add(problem);
      },
      onRuleError(error) {
        // A file and its rules are complete at startup, so errors stop it.
        const isOwn = served.rules.some(({ selector }) => selector === error.selector);
        if (file !== undefined && isOwn) refuse(error.message);
        leftOut.add(error.message);
      },
      onDroppedMetadata: metrics?.onDroppedMetadata,
    });
    const options: ServedOptions = {
      ...gateway,
      routes(router, { draining }) {
        gateway.routes(router);
        if (!names.has(Health.typeName)) addHealth(router, { isReady, draining, services }, open);
        if (!names.has(ServerReflection.typeName)) addReflection(router, { draining }, open);
      },
    };

    function commit(): void {
      current = served;
      if (settings.openapi && served.parts.length > 0) {
        try {
          reference.show(describeServed(services, gateway.rest, settings));
        } catch (error) {
          log.warn("the OpenAPI document stays as it was", error);
        }
      }
      const all = new Set([...leftOut, ...warnings]);
      const news = [...all].filter((one) => !told.has(one));
      for (const one of news.slice(0, toldMax)) log.warn(one);
      if (news.length > toldMax) log.warn(`and ${news.length - toldMax} more: run --check`);
      told = all;
      metrics?.leftOut(leftOut.size);
    }

    return { options, commit };
  }

  /** From now on, serves what the upstreams report, as soon as the first one has, and after each change. */
  function watch(started: Server): void {
    server = started;
    if (file !== undefined) return;
    const parts = new Map<Upstream, Part>();
    // Others have no reflection.
    watches = upstreams.flatMap((one) => (one.grpc ? [watchOne(one, one.grpc, parts)] : []));
    for (const { close } of watches) program.defer(close);
  }

  function watchOne(
    upstream: Upstream,
    transport: GrpcTransport,
    parts: Map<Upstream, Part>,
  ): ReflectionWatch {
    const { ownHeaders: header, place } = upstream;
    const watch = watchReflection({
      transport,
      header,
      services: place.services,
      intervalMs: settings.reflectionIntervalMs,
      onChange(descriptors) {
        const part = { upstream, descriptors, onUnimplemented: () => watch.refresh() };
        parts.set(upstream, part);
        try {
          use(serve([...parts.values()]));
        } catch {
          // Another one's may be wrong. Two that swap services are right only once both have told.
          const others = current.parts.filter((one) => one.upstream !== upstream);
          use(serve([...others, part]));
        }
        const names = descriptors.services.map(({ typeName }) => typeName).join(", ");
        log.info(`${place.url} serves ${names}`);
      },
      onError: (error) => log.warn(`cannot read the services of ${place.url}`, error),
    });
    return watch;
  }

  /** Asks for a type that was met in a message, and whose JSON nobody knows. */
  function learn(typeName: string): void {
    for (const watch of watches) watch.learn(typeName);
    if (unknown.has(typeName) || unknown.size === toldMax) return;
    unknown.add(typeName);
    log.warn(`a google.protobuf.Any of ${typeName} has no JSON: no descriptor has that type`);
  }

  function reload(): void {
    for (const { reload, place } of upstreams) {
      try {
        reload();
      } catch (error) {
        log.warn(`the old headers for ${place.url} stay in use`, error);
      }
    }
    for (const watch of watches) watch.refresh();
    try {
      rules = readRules(settings);
      use(file === undefined ? serve(current.parts) : readFile(file));
    } catch (error) {
      log.warn("the old services and rules stay in use", error);
    }
  }
}

/** Health and reflection need no token. */
const open = { requestGate() {} };

/** The metrics of a proxy, beside those of any server. Loads Prometheus's client. */
async function createProxyMetrics(registry: Registry) {
  const { Counter, Gauge } = await import("@prometheus-io/client");
  const registers = [registry];
  const dropped = new Counter({
    name: "connect_gateway_metadata_dropped_total",
    help: "Request headers that were not passed on, as gRPC cannot carry their values.",
    labelNames: ["header"],
    registers,
  });
  const rules = new Gauge({
    name: "connect_gateway_rules_left_out",
    help: "Rules of google.api.http that are left out, as they cannot be served.",
    registers,
  });
  return {
    leftOut: (count: number) => rules.set(count),
    onDroppedMetadata: (name: string) => dropped.inc({ header: name }),
  };
}
