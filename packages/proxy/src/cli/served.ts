/** The methods that a gateway serves, from the descriptors of its upstreams and the rules. */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { createMcp } from "connect-gateway/mcp";
import type { HttpRule } from "connect-gateway/protos";
import { bindingsOf, type RuleError } from "connect-gateway/rules";
import type { ServedOptions } from "connect-gateway/server";
import { CommandFailure } from "connect-gateway-kit/command/run";
import { type Descriptors, defaultRequestMetadata, proxyServices } from "../services/index.ts";
import { restOptionsOf, type Settings, timeoutsOf } from "./settings.ts";
import type { Upstream } from "./upstream.ts";

export interface Part {
  readonly upstream: Upstream;
  readonly descriptors: Descriptors;
  readonly onUnimplemented?: () => void;
}

export interface Sources {
  readonly parts: readonly Part[];
  /** All upstreams, including those whose services are not known yet. */
  readonly upstreams: readonly Upstream[];
  readonly rules: readonly HttpRule[];
}

export type Served = ReturnType<typeof createServed>;

/** To the upstream that names a service, or else has it. @throws {CommandFailure} if none or two do. */
export function createServed({ parts, upstreams, rules }: Sources) {
  const named = new Set(upstreams.flatMap(({ place }) => place.services ?? []));
  const own = parts.map(({ descriptors, ...part }) => {
    const services =
      part.upstream.place.services?.map((name) => serviceOf(descriptors, name)) ??
      descriptors.services.filter(({ typeName }) => !named.has(typeName));
    return { ...part, descriptors: { ...descriptors, services } };
  });
  const urls = new Map<string, string>();
  for (const { upstream, descriptors } of own) {
    for (const { typeName: name } of descriptors.services) {
      const { url } = upstream.place;
      const places = `${name} is at ${urls.get(name)} and at ${url}`;
      if (urls.has(name)) refuse(`${places}; write --upstream ${name}=URL`);
      urls.set(name, url);
    }
  }
  const services = own.flatMap(({ descriptors }) => descriptors.services);
  const all = own.flatMap(({ descriptors: { broken, missing } }) => [...broken, ...missing]);
  /** Methods left out, and possible problems. */
  const warnings = [...new Set(all)];
  /** Whether the services of all upstreams are known. */
  const isWhole = parts.length === upstreams.length;
  const methods = services.flatMap((service) => service.methods);
  const isRouted = (method: DescMethod) =>
    bindingsOf(method, { rules, onRuleError() {} }).length > 0;
  if (isWhole && !methods.some(isRouted)) warnings.push(noRoutes);
  return { parts: own, services, methods, rules, warnings, isWhole };
}

function serviceOf({ registry, services }: Descriptors, name: string): DescService {
  const service = registry.getService(name);
  if (service !== undefined) return service;
  const known = services.map(({ typeName }) => typeName).join(", ");
  return refuse(`--upstream ${name}=…: no such service; choose from ${known}`);
}

const noRoutes =
  "no method has a REST route: annotate the proto with google.api.http, or give --rules FILE; " +
  "the reflection of some servers leaves annotations out, then give --descriptors FILE";

export function refuse(problem: string): never {
  throw new CommandFailure(2, problem);
}

interface ServingOptions {
  readonly version: string;
  /** Called with the problem of an unknown name in the settings, which is left out. */
  readonly onUnknown: (problem: string) => void;
  readonly onRuleError: (error: RuleError) => void;
  readonly onDroppedMetadata?: ((name: string) => void) | undefined;
}

export function gatewayOptions(served: Served, settings: Settings, options: ServingOptions) {
  const { methods, rules, isWhole } = served;
  const known = new Set(methods.map(({ parent, name }) => `${parent.typeName}.${name}`));
  return {
    routes: createRoutes(served, settings, options),
    rest: {
      ...restOptionsOf(settings),
      // Other rules may be for services that become known later.
      rules: isWhole ? rules : rules.filter(({ selector }) => known.has(selector)),
      onRuleError: options.onRuleError,
    },
    jsonOptions: { alwaysEmitImplicit: settings.rest.zeroValues },
    ...createTools(served, settings, options),
  };
}

function createRoutes(
  { parts, services, rules }: Served,
  settings: Settings,
  { onUnknown, onDroppedMetadata = () => {} }: ServingOptions,
): (router: ConnectRouter) => void {
  const requestMetadata = [...defaultRequestMetadata, ...settings.requestMetadata];
  const timeouts = timeoutsOf(settings);
  const timeoutMs = ({ parent: { typeName }, name, methodKind }: DescMethod) =>
    timeouts.get(`${typeName}/${name}`) ??
    timeouts.get(typeName) ??
    (methodKind === "unary" && settings.timeoutMs > 0 ? settings.timeoutMs : undefined);
  for (const name of timeouts.keys()) {
    const isKnown = ({ typeName, methods }: DescService) =>
      typeName === name || methods.some((method) => `${typeName}/${method.name}` === name);
    if (!services.some(isKnown)) onUnknown(`method-timeouts-ms ${name}: no such method`);
  }
  const common = { requestMetadata, onDroppedMetadata, timeoutMs };
  const routes = parts.map(({ upstream, descriptors, onUnimplemented = () => {} }) => {
    const transport = upstream.transportBy(rules);
    const add = proxyServices({ ...descriptors, ...common, transport, onUnimplemented });
    // Upstreams may have different versions of a type.
    const { registry } = descriptors;
    const jsonOptions = { registry, alwaysEmitImplicit: settings.rest.zeroValues };
    return (router: ConnectRouter) =>
      add({ ...router, service: (one, own) => router.service(one, own, { jsonOptions }) });
  });
  return (router) => {
    for (const add of routes) add(router);
  };
}

/** The setting `mcp` names services and methods; `on` is for all that can be tools. */
function createTools(
  { methods }: Served,
  { mcp: names, mcpSchemas: schemas, mcpInstructions: instructions, mcpResource, auth }: Settings,
  { version, onUnknown }: ServingOptions,
): Pick<ServedOptions, "mcp"> {
  const all = methods
    .filter(({ methodKind: kind }) => kind === "unary" || kind === "server_streaming")
    .map(({ name, parent }) => `${parent.typeName}/${name}`);
  const known = new Set(all.flatMap((name) => [name, name.replace(/\/.*/, "")]));
  const wanted = names.flatMap((name) => (name === "on" ? all : [name]));
  for (const name of wanted.filter((one) => !known.has(one))) {
    onUnknown(`--mcp ${name}: no such method; choose from ${all.join(", ")}`);
  }
  const tools = wanted.filter((name) => known.has(name));
  if (tools.length === 0) return {};
  const resource = mcpResource ?? "";
  return {
    mcp: createMcp({
      tools,
      server: { name: "connect-gateway-proxy", version },
      schemas,
      ...(instructions !== undefined && { instructions }),
      ...(auth.jwtIssuer && resource && { authorization: { resource, issuers: [auth.jwtIssuer] } }),
    }),
  };
}
