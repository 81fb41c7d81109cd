/** What `rest.etag`, `rest.ranges` and pages add to an operation that answers as a whole. */
import type { RestServiceSettings } from "../rest/options.ts";
import { pagesOf } from "../rest/response/next-page.ts";
import { isHttpBody } from "../rest/rule/http-body.ts";
import type { JsonObject } from "./json-object.ts";
import type { Operation } from "./operations.ts";

interface Additions {
  readonly parameters: readonly JsonObject[];
  /** Of a success. */
  readonly headers: JsonObject;
  readonly responses: JsonObject;
}

/** @param success The response of success. */
export function additionsOf(
  { method, binding, httpMethod }: Operation,
  { etag, ranges }: RestServiceSettings,
  success: JsonObject,
): Additions {
  const isGet = httpMethod === "get" || httpMethod === "head";
  const isWhole = method.methodKind === "unary" && isGet && "content" in success;
  const isTagged = isWhole && etag;
  const isDivisible =
    isWhole && ranges && httpMethod === "get" && isHttpBody(method.output, binding.responseBody);
  const hasPages = isWhole && pagesOf(method, binding) !== undefined;
  const tag = isTagged && { ETag: header("Changes with the answer.") };
  const link = hasPages && { Link: header('The next page, if there is one: `rel="next"`.') };
  return {
    parameters: [
      ...(isTagged ? [ifNoneMatch] : []),
      ...(isDivisible ? [parameter("Range", "The part to answer: `bytes=0-99`.")] : []),
    ],
    headers: { ...tag, ...link },
    responses: {
      ...(isDivisible && {
        "206": {
          ...success,
          description: "The part of `Range`.",
          headers: { ...tag, "Content-Range": header("Which part it is, and of how many bytes.") },
        },
      }),
      ...(isTagged && {
        "304": {
          description: "The client has that answer already: `If-None-Match` names its ETag.",
          headers: { ...tag },
        },
      }),
    },
  };
}

const schema = { type: "string" };

function header(description: string): JsonObject {
  return { description, schema };
}

function parameter(name: string, description: string): JsonObject {
  return { name, in: "header", description, schema };
}

const ifNoneMatch = parameter(
  "If-None-Match",
  "The ETag of an answer that the client has, or several with commas between.",
);
