import { Code, ConnectError } from "@connectrpc/connect";
import { jsonResponse } from "../http/body.ts";
import type { NodeHandler } from "../http/request-exchange.ts";
import { type RenderError, RestFailure, renderStatus } from "../rest/error.ts";
import { errorResponse } from "../rest/response/response.ts";
import { assertOptions, type OptionKindsOf } from "../rpc/options.ts";
import { type Readiness, readinessKinds, resolveReadiness } from "./readiness.ts";

export interface HealthHandlersOptions extends Readiness {
  /** Path prefixes. Each has all handlers. Default: only the root. */
  readonly prefixes?: readonly string[];
  /** Renders errors, as `rest.renderError` does. Default: `google.rpc.Status`. */
  readonly renderError?: RenderError;
}

const optionKinds: OptionKindsOf<HealthHandlersOptions> = {
  ...readinessKinds,
  prefixes: "list",
  renderError: "function",
};

/**
 * `GET /healthz`: the process is running. `GET /readyz`: it would accept requests; otherwise 503.
 *
 * @returns the handlers by full path.
 * @throws {TypeError} for an unknown option.
 */
export function createHealthHandlers(
  options: HealthHandlersOptions = {},
): ReadonlyMap<string, NodeHandler> {
  assertOptions("createHealthHandlers", options, optionKinds);
  const { prefixes = [""], renderError = renderStatus, ...readiness } = options;
  const { isReady } = resolveReadiness(readiness);
  const serve = (isWell: () => boolean): NodeHandler => {
    return ({ method }, response) => {
      const failure = method === "GET" || method === "HEAD" ? undefined : wrongMethod();
      const problem = failure ?? (isWell() ? undefined : notReady());
      const answer = problem === undefined ? well : errorResponse(problem, { renderError });
      response.writeHead(answer.status, { ...answer.header, "cache-control": "no-store" });
      response.end(answer.body); // Node omits the body of an answer to HEAD by itself
    };
  };
  const healthz = serve(() => true);
  const readyz = serve(isReady);
  return new Map(
    prefixes.flatMap((prefix) => [
      [`${prefix}/healthz`, healthz],
      [`${prefix}/readyz`, readyz],
    ]),
  );
}

function wrongMethod(): RestFailure {
  const allow = "GET, HEAD";
  return new RestFailure(405, Code.Unimplemented, "the method must be GET or HEAD", { allow });
}

function notReady(): ConnectError {
  return new ConnectError("the server is not ready", Code.Unavailable);
}

const well = jsonResponse('{"status":"ok"}');
