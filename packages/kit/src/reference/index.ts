/** An OpenAPI document of the gateway as HTML to read, without a script. */
export type { ApiDocument } from "./reference.ts";
export { renderReference } from "./reference.ts";
