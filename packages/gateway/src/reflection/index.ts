/** gRPC server reflection, v1 and v1alpha, for a router. */
export {
  ServerReflection,
  type ServerReflectionRequestSchema,
  type ServerReflectionResponse,
} from "../../gen/grpc/reflection/v1/reflection_pb.ts";
export { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
export { addReflection, type ReflectionOptions } from "./service.ts";
