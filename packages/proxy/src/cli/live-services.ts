/** What a gateway serves for its upstreams: from a file at startup, or by reflection, which may change. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Registry } from "@prometheus-io/client";
import { addHealth, Health } from "connect-gateway/health";
import type { HttpRule } from "connect-gateway/protos";
import { addReflection, ServerReflection } from "connect-gateway/reflection";
import type { RuleError } from "connect-gateway/rules";
import type { ServedOptions, Server } from "connect-gateway/server";
import { CommandFailure } from "connect-gateway-kit/command";
import type { StartedProgram } from "connect-gateway-kit/program";
import { type ReflectionWatch, watchReflection } from "../services/index.ts";
import { createReference, describeServed } from "./reference.ts";
import { readRules } from "./rules.ts";
import { createRoutes, createServed, createTools, type Part, type Served } from "./served.ts";
import { restOptionsOf, type Settings } from "./settings.ts";
import { readDescriptorFile, type Upstream, watchHealth } from "./upstream.ts";

interface Sources {
  readonly program: StartedProgram;
  readonly settings: Settings;
  readonly upstreams: readonly Upstream[];
  readonly rules: readonly HttpRule[];
}

/** The next configuration, and a callback once it is served. */
interface Prepared {
  readonly options: ServedOptions;
  commit(): void;
}

const unknownMax = 100;

export class LiveServices {
  readonly #sources: Sources;
  readonly #metrics: ProxyMetrics | undefined;
  readonly #health: ReadonlyMap<Upstream, ReturnType<typeof watchHealth>>;
  readonly #reference = createReference();
  readonly #unknown = new Set<string>();
  #rules: readonly HttpRule[];
  #watches: readonly ReflectionWatch[] = [];
  /** By reflection they are known later, and may change. */
  #current: Served | undefined;
  #told: ReadonlySet<string> = new Set();
  #server: Server | undefined;

  static async create(sources: Sources): Promise<LiveServices> {
    const { metrics } = sources.program;
    return new LiveServices(sources, metrics && (await createProxyMetrics(metrics.registry)));
  }

  private constructor(sources: Sources, metrics: ProxyMetrics | undefined) {
    this.#sources = sources;
    this.#metrics = metrics;
    this.#rules = sources.rules;
    this.#health = new Map(sources.upstreams.map((one) => [one, watchHealth(one)]));
    for (const { close } of this.#health.values()) sources.program.defer(close);
  }

  /** The document and its page, if they are on. */
  handlersAt(prefix: string) {
    return this.#sources.settings.openapi ? this.#reference.handlersAt(prefix) : [];
  }

  /** A service is ready with its upstream, and the server with one of them: the others' calls get 503. */
  isReady(service: string): boolean {
    const { parts = [] } = this.#current ?? {};
    const serves = ({ descriptors: { services } }: Part) =>
      service === "" || services.some(({ typeName }) => typeName === service);
    return parts.some((part) => this.#health.get(part.upstream)?.isReady() && serves(part));
  }

  /** An unknown path may be served once all services are known. */
  notFoundError(): ConnectError | undefined {
    return this.#isAll(this.#current) ? undefined : untold;
  }

  #isAll(served: Served | undefined): boolean {
    return served?.parts.length === this.#sources.upstreams.length;
  }

  first(): Prepared {
    const { descriptors } = this.#sources.settings;
    return this.#prepare(descriptors === undefined ? undefined : this.#read(descriptors));
  }

  #read(file: string): Served {
    const descriptors = readDescriptorFile(file);
    return this.#create(this.#sources.upstreams.map((upstream) => ({ upstream, descriptors })));
  }

  #create(parts: readonly Part[]): Served {
    return createServed({ parts, upstreams: this.#sources.upstreams, rules: this.#rules });
  }

  #use(served: Served): void {
    const next = this.#prepare(served);
    this.#server?.update(next.options);
    next.commit();
  }

  #prepare(served: Served | undefined): Prepared {
    const { settings, program } = this.#sources;
    const { services = [], registry } = served ?? {};
    const isFile = settings.descriptors !== undefined;
    const leftOut = new Set<string>();
    const names = new Set(services.map(({ typeName }) => typeName));
    const isReady = (service: string) => this.isReady(service);
    const rest = this.#restOptions(served, leftOut);
    const onUnknown = (problem: string) => {
      if (isFile) throw new CommandFailure(2, problem);
      if (this.#isAll(served)) leftOut.add(problem);
    };
    const routes =
      served && createRoutes(served, settings, onUnknown, this.#metrics?.onDroppedMetadata);
    const options: ServedOptions = {
      routes(router, { draining }) {
        routes?.(router);
        if (!names.has(Health.typeName)) addHealth(router, { isReady, draining, services }, open);
        if (!names.has(ServerReflection.typeName)) addReflection(router, { draining }, open);
      },
      rest,
      jsonOptions: { ...(registry && { registry }), alwaysEmitImplicit: settings.rest.zeroValues },
      ...createTools(settings, program.version, served, onUnknown),
    };
    return { options, commit: () => this.#commit(served, rest, leftOut) };
  }

  #restOptions(served: Served | undefined, leftOut: Set<string>) {
    const { settings } = this.#sources;
    const { rules = [] } = served ?? {};
    const methods = served?.services.flatMap((service) => service.methods) ?? [];
    const known = new Set(methods.map(({ parent, name }) => `${parent.typeName}.${name}`));
    return {
      ...restOptionsOf(settings),
      // Other rules may be for services that become known later.
      rules: this.#isAll(served) ? rules : rules.filter(({ selector }) => known.has(selector)),
      onRuleError(error: RuleError) {
        // A file and its rules are complete at startup, so errors stop it.
        const isOwn = rules.some(({ selector }) => selector === error.selector);
        if (settings.descriptors !== undefined && isOwn) throw error;
        leftOut.add(error.message);
      },
    };
  }

  #commit(
    served: Served | undefined,
    rest: NonNullable<ServedOptions["rest"]>,
    leftOut: ReadonlySet<string>,
  ): void {
    const { log } = this.#sources.program;
    this.#current = served;
    if (this.#sources.settings.openapi && served !== undefined) {
      try {
        this.#reference.show(describeServed(served.services, rest, this.#sources.settings));
      } catch (error) {
        log.warn("the OpenAPI document stays as it was", error);
      }
    }
    const all = new Set([...leftOut, ...(served?.warnings ?? [])]);
    for (const one of all) if (!this.#told.has(one)) log.warn(one);
    this.#told = all;
    this.#metrics?.leftOut(leftOut.size);
  }

  /** From now on, serves what the upstreams report, as soon as the first one has, and after each change. */
  watch(server: Server): void {
    const { program, settings, upstreams } = this.#sources;
    this.#server = server;
    if (settings.descriptors !== undefined) return;
    const parts = new Map<Upstream, Part>();
    this.#watches = upstreams.flatMap((upstream) => this.#watchOne(upstream, parts));
    for (const watch of this.#watches) program.defer(watch.close);
  }

  #watchOne(upstream: Upstream, parts: Map<Upstream, Part>): readonly ReflectionWatch[] {
    const { settings, program } = this.#sources;
    const { grpc: transport, ownHeaders: header, place } = upstream;
    if (transport === undefined) return []; // it has no reflection
    const { log } = program;
    let failure: string | undefined;
    const watch = watchReflection({
      transport,
      header,
      services: place.services,
      intervalMs: settings.reflectionIntervalMs,
      onChange: (descriptors) => {
        const part = { upstream, descriptors, onUnimplemented: () => watch.refresh() };
        const next = new Map(parts).set(upstream, part);
        this.#use(this.#create([...next.values()]));
        parts.set(upstream, part);
        failure = undefined;
        const names = descriptors.services.map(({ typeName }) => typeName).join(", ");
        log.info(`${place.url} serves ${names}`);
      },
      onError(error) {
        if (failure === String(error)) return;
        failure = String(error);
        log.warn(`cannot read the services of ${place.url}`, error);
      },
    });
    return [watch];
  }

  /** Asks for a type that was met in a message, and whose JSON nobody knows. */
  learn(typeName: string): void {
    for (const watch of this.#watches) watch.learn(typeName);
    if (this.#unknown.has(typeName) || this.#unknown.size === unknownMax) return;
    this.#unknown.add(typeName);
    this.#sources.program.log.warn(
      `a google.protobuf.Any of ${typeName} has no JSON: no descriptor has that type`,
    );
  }

  /** Reads the services, the rules and the headers again. */
  reload(): void {
    const { settings, program, upstreams } = this.#sources;
    for (const { reload, place } of upstreams) {
      try {
        reload();
      } catch (error) {
        program.log.warn(`the old headers for ${place.url} stay in use`, error);
      }
    }
    const { descriptors: file } = settings;
    for (const watch of this.#watches) watch.refresh();
    const before = this.#rules;
    try {
      this.#rules = readRules(settings);
      if (file !== undefined) this.#use(this.#read(file));
      else if (this.#current !== undefined) this.#use(this.#create(this.#current.parts));
    } catch (error) {
      this.#rules = before;
      program.log.warn("the old services and rules stay in use", error);
    }
  }
}

const untold = new ConnectError(
  "the upstream has not listed its services yet; try again later",
  Code.Unavailable,
);

/** Health and reflection need no token. */
const open = { requestGate() {} };

export type ProxyMetrics = Awaited<ReturnType<typeof createProxyMetrics>>;

/** The metrics of a proxy, beside those of any server. Loads Prometheus's client. */
export async function createProxyMetrics(registry: Registry) {
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
