/** Schemas of one service, according to its REST options. */
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import type { RestServiceSettings } from "../rest/options.ts";
import { problemType, renderProblem } from "../rest/problem.ts";
import type { Components } from "./components.ts";
import type { ErrorForm } from "./errors.ts";
import type { JsonObject } from "./json-object.ts";
import type { OpenApiSettings } from "./options.ts";
import { Schemas } from "./schema/schema.ts";

/**
 * A message that two services render differently has two schemas. The one of the service whose
 * options differ from the general ones is named after that service.
 */
export function schemasOf(
  own: RestServiceSettings,
  { rest, examples, textPattern }: OpenApiSettings,
  components: Components,
): Schemas {
  const { int64, ignoreUnknownFields } = own;
  const isOpen = ignoreUnknownFields ? "Open" : "Closed";
  const variants = {
    request: ignoreUnknownFields === rest.ignoreUnknownFields ? undefined : isOpen,
    response: int64 === rest.int64 ? undefined : int64 === "number" ? "Numbers" : "Strings",
  };
  return new Schemas(components, { int64, ignoreUnknownFields, examples, textPattern, variants });
}

/** The form of errors. */
export function errorFormOf(
  { renderError }: RestServiceSettings,
  { error }: OpenApiSettings,
  schemas: Schemas,
  components: Components,
): ErrorForm {
  if (renderError !== renderProblem) {
    const schema = schemas.forMessage(error, "response");
    return { name: "Error", contentType: "application/json", schema };
  }
  const problem = { full: "google.rpc.Status-Problem", short: "Problem" };
  const schema = components.refer(problem, () => problemSchema(schemas));
  return { name: "Problem", contentType: problemType, schema };
}

function problemSchema(schemas: Schemas): JsonObject {
  const { code, details } = StatusSchema.field;
  return {
    type: "object",
    description: "RFC 9457, with members of google.rpc.Status.",
    properties: {
      type: { type: "string", format: "uri-reference" },
      title: { type: "string", description: "That of the status." },
      status: { type: "integer", format: "int32", description: "The status of HTTP." },
      detail: { type: "string", description: "What is wrong, for people to read." },
      code: schemas.forField(code, "response"),
      details: schemas.forField(details, "response"),
    },
    required: ["type", "status", "code", "details"],
  };
}
