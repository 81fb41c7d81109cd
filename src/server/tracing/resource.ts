import {
  defaultResource,
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import { version } from "../version.ts";

/** Who it is that makes the spans. The environment wins: `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`. */
export function createResource(): Resource {
  const ours = { "service.name": "plant-store", "service.version": version };
  const detectors = [resourceAttributesEnvDetector, serviceNameEnvDetector];
  return defaultResource()
    .merge(resourceFromAttributes(ours))
    .merge(detectResources({ detectors }));
}
