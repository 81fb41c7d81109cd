import { STATUS_CODES } from "node:http";
import { type RenderedError, type RestError, renderStatus } from "./error.ts";

export const problemType = "application/problem+json";

/**
 * Renders errors as `application/problem+json`, RFC 9457. Use it as `rest.renderError`. The type is
 * `about:blank`, the title is that of the status, and the members `code` and `details` are those of
 * `google.rpc.Status`.
 */
export function renderProblem(failure: RestError): RenderedError {
  const { status, error } = failure;
  const { code, details } = renderStatus(failure).body;
  const title = STATUS_CODES[status];
  return {
    status,
    contentType: problemType,
    body: {
      type: "about:blank",
      ...(title !== undefined && { title }),
      status,
      ...(error.rawMessage !== "" && { detail: error.rawMessage }),
      code,
      details,
    },
  };
}
