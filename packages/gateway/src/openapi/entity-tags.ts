/** The additions of `rest.etag` to an operation. */
import type { JsonObject } from "./json-object.ts";

const schema = { type: "string" };

/** Headers of a success, and of the answer 304. */
export const tagHeaders: JsonObject = {
  ETag: { description: "Changes with the answer.", schema },
};

export const ifNoneMatch: JsonObject = {
  name: "If-None-Match",
  in: "header",
  description: "The ETag of an answer that the client has, or several with commas between.",
  schema,
};

export const notModified: JsonObject = {
  description: "The client has that answer already: `If-None-Match` names its ETag.",
  headers: tagHeaders,
};
