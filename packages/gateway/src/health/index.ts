/** Health checks: `grpc.health.v1` for a router, and `/healthz` and `/readyz`. */
export { Health, HealthCheckResponse_ServingStatus } from "../../gen/grpc/health/v1/health_pb.ts";
export type { Readiness } from "./health.ts";
export {
  addHealth,
  createHealthHandlers,
  type HealthHandlersOptions,
  type HealthOptions,
} from "./health.ts";
