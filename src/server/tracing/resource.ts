import {
  defaultResource,
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import { version } from "../version.ts";

/** The service that creates the spans. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` override it. */
export function createResource(): Resource {
  const ours = { "service.name": "plant-store", "service.version": version };
  const detectors = [resourceAttributesEnvDetector, serviceNameEnvDetector];
  return defaultResource()
    .merge(resourceFromAttributes(ours))
    .merge(detectResources({ detectors }));
}
