/** What a gateway serves of its upstreams, as their descriptors and the rules say. */
import { createRegistry, type DescService, type Registry } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import type { HttpRule } from "connect-gateway/protos";
import { type Descriptors, defaultRequestMetadata, proxyServices } from "../services/index.ts";
import { CommandError } from "./command-error.ts";
import type { Settings } from "./settings.ts";
import type { Upstream } from "./upstream.ts";

/** An upstream with its services. */
export interface Part {
  readonly upstream: Upstream;
  readonly descriptors: Descriptors;
  readonly onUnimplemented?: () => void;
}

export interface Served {
  readonly parts: readonly Part[];
  readonly services: readonly DescService[];
  readonly registry: Registry;
  readonly rules: readonly HttpRule[];
}

/**
 * Gives each service to its upstream: to the one that names it, or else to the one that names none.
 *
 * @throws {CommandError} for a service that is named and not described.
 */
export function createServed(parts: readonly Part[], rules: readonly HttpRule[]): Served {
  const named = new Set(parts.flatMap(({ upstream }) => upstream.place.services ?? []));
  const own = parts.map((part) => {
    const { descriptors, upstream } = part;
    const services = upstream.place.services;
    for (const name of services ?? []) {
      if (descriptors.services.some(({ typeName }) => typeName === name)) continue;
      const known = descriptors.services.map(({ typeName }) => typeName).join(", ");
      throw new CommandError(`--upstream ${name}=…: there is no such service; there is ${known}`);
    }
    const chosen = descriptors.services.filter(({ typeName }) =>
      services === undefined ? !named.has(typeName) : services.includes(typeName),
    );
    return { ...part, descriptors: { ...descriptors, services: chosen } };
  });
  const registries = own.map(({ descriptors }) => descriptors.registry);
  return {
    parts: own,
    services: own.flatMap(({ descriptors }) => descriptors.services),
    registry: createRegistry(...registries),
    rules,
  };
}

/** Routes to the upstreams. */
export function createRoutes(
  { parts }: Served,
  { requestMetadata, timeoutMs }: Pick<Settings, "requestMetadata" | "timeoutMs">,
  onDroppedMetadata: (name: string) => void = () => {},
): (router: ConnectRouter) => void {
  const names = [...defaultRequestMetadata, ...requestMetadata];
  const routes = parts.map(({ upstream: { transport }, descriptors, onUnimplemented }) =>
    proxyServices({
      ...descriptors,
      transport,
      requestMetadata: names,
      onDroppedMetadata,
      ...(timeoutMs > 0 && { timeoutMs }),
      ...(onUnimplemented && { onUnimplemented }),
    }),
  );
  return (router) => {
    for (const add of routes) add(router);
  };
}
