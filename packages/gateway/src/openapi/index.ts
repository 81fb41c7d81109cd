/** Creates OpenAPI documents of services from their `google.api.http` options. */
export { createOpenApiDocument } from "./document.ts";
export type { ErrorAnswer, OpenApiOptions } from "./options.ts";
