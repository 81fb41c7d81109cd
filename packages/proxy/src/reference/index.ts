/** An OpenAPI document of the gateway as HTML to read, without a script. */
export type { ApiDocument } from "./document.ts";
export { renderReference } from "./reference.ts";
