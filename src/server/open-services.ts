/** What is served to anyone, without a token: these are not operations of the plant store. */
import type { DescService } from "@bufbuild/protobuf";
import type { ConnectRouter, Interceptor, ServiceImpl } from "@connectrpc/connect";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { createHealthService } from "../gateway/health/service.ts";
import { createReflectionService } from "../gateway/reflection/service.ts";

export interface OpenServicesOptions {
  /** The services that do need a token. */
  readonly services: readonly DescService[];
  readonly health: boolean;
  readonly reflection: boolean;
  readonly isReady: () => boolean;
  /** Aborts when the server begins to drain, with what to tell a call that ends for it. */
  readonly draining: AbortSignal;
  readonly interceptors: Interceptor[];
}

/** @returns mounts them on a router, whatever gate and interceptors that has for others. */
export function createOpenServices(options: OpenServicesOptions): (router: ConnectRouter) => void {
  const { services, isReady, draining, interceptors } = options;
  const names = services.map(({ typeName }) => typeName);
  const open = {
    requestGate: admit,
    interceptors,
    // Names and nothing else: a stranger must not make us read or unpack more.
    readMaxBytes: 4096,
    // What a stranger asks for again and again is not compressed again and again.
    compressMinBytes: 0xffffffff,
  };
  const health = options.health && createHealthService({ isReady, services: names, draining });
  const described = [
    ...services,
    ...(options.health ? [Health] : []),
    ServerReflection,
    ServerReflectionAlpha,
  ];
  const reflection = options.reflection && createReflectionService(described, draining);
  return (router) => {
    if (health) router.service(Health, health, open);
    if (!reflection) return;
    router.service(ServerReflection, reflection, open);
    // The older package has the same messages, under its own name.
    const older = reflection as unknown as ServiceImpl<typeof ServerReflectionAlpha>;
    router.service(ServerReflectionAlpha, older, open);
  };
}

function admit(): void {}
