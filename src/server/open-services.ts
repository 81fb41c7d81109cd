/** Services that need no token: health and reflection. */
import type { ConnectRouter, Interceptor } from "@connectrpc/connect";
import { addHealth, Health, type Readiness } from "connect-gateway/health";
import { addReflection, ServerReflection, ServerReflectionAlpha } from "connect-gateway/reflection";
import { PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";

export interface OpenServicesOptions extends Required<Readiness> {
  readonly health: boolean;
  readonly reflection: boolean;
  readonly interceptors: Interceptor[];
}

/** @returns a function that mounts them on a router, without its gate and interceptors. */
export function createOpenServices(options: OpenServicesOptions): (router: ConnectRouter) => void {
  const { isReady, draining, interceptors } = options;
  const open = { requestGate: admit, interceptors };
  const services = [
    PlantService,
    ...(options.health ? [Health] : []),
    ServerReflection,
    ServerReflectionAlpha,
  ];
  return (router) => {
    if (options.health) addHealth(router, { isReady, draining, services: [PlantService] }, open);
    if (options.reflection) addReflection(router, { draining, services }, open);
  };
}

function admit(): void {}
