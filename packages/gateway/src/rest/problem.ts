import { STATUS_CODES } from "node:http";
import { type RenderedError, type RestError, renderStatus } from "./error.ts";

export const problemType = "application/problem+json";

/**
 * Renders errors as `application/problem+json`, RFC 9457, for `rest.renderError`: of the type
 * `about:blank`, whose title is that of the status, with the members `code` and `details` of
 * `google.rpc.Status` beside.
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
