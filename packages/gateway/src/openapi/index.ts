/** OpenAPI documents of services, by their `google.api.http` options. */
export { createOpenApiDocument, type OpenApiOptions } from "./document.ts";
