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
  const title = titles.get(status);
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

/** The reason phrases of RFC 9110, as far as errors have them. */
const phrases =
  "400 Bad Request, 401 Unauthorized, 402 Payment Required, 403 Forbidden, 404 Not Found, " +
  "405 Method Not Allowed, 406 Not Acceptable, 407 Proxy Authentication Required, " +
  "408 Request Timeout, 409 Conflict, 410 Gone, 411 Length Required, 412 Precondition Failed, " +
  "413 Payload Too Large, 414 URI Too Long, 415 Unsupported Media Type, " +
  "416 Range Not Satisfiable, 417 Expectation Failed, 421 Misdirected Request, " +
  "422 Unprocessable Entity, 423 Locked, 424 Failed Dependency, 425 Too Early, " +
  "426 Upgrade Required, 428 Precondition Required, 429 Too Many Requests, " +
  "431 Request Header Fields Too Large, 451 Unavailable For Legal Reasons, " +
  "500 Internal Server Error, 501 Not Implemented, 502 Bad Gateway, 503 Service Unavailable, " +
  "504 Gateway Timeout, 505 HTTP Version Not Supported, 507 Insufficient Storage, " +
  "511 Network Authentication Required";

const titles: ReadonlyMap<number, string> = new Map(
  phrases.split(", ").map((one) => [Number(one.slice(0, 3)), one.slice(4)]),
);
