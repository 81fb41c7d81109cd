/** Health checks: `grpc.health.v1` for a router, and `/healthz` and `/readyz`. */
export { Health, HealthCheckResponse_ServingStatus } from "../../gen/grpc/health/v1/health_pb.ts";
export { createHealthHandlers, type HealthHandlersOptions } from "./handlers.ts";
export type { Readiness } from "./readiness.ts";
export { addHealth, type HealthOptions } from "./service.ts";
