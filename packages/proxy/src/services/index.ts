/** Serves a gRPC server, written in anything, by REST, Connect, gRPC-Web and gRPC. */
export { DescriptorError, type Descriptors, readDescriptors } from "./descriptors.ts";
export { defaultRequestMetadata } from "./metadata.ts";
export {
  type ReflectionWatch,
  type ReflectionWatchOptions,
  type ReflectServicesOptions,
  reflectServices,
  watchReflection,
} from "./reflection.ts";
export { type ProxyOptions, proxyServices } from "./services.ts";
