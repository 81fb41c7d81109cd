/** Health checks: `grpc.health.v1` for a router, and `/healthz` and `/readyz`. */
export { Health, HealthCheckResponse_ServingStatus } from "../../gen/grpc/health/v1/health_pb.ts";
export {
  addHealth,
  createHealthHandlers,
  type HealthHandlersOptions,
  type HealthOptions,
  type Readiness,
} from "./health.ts";
