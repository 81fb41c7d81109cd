import { Code } from "@connectrpc/connect";
import type { NodeHandler } from "../http/node.ts";
import {
  type RenderError,
  type RenderedError,
  RestFailure,
  renderStatus,
  restErrorFrom,
} from "../rest/error.ts";
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
      answer(response, failure ?? (isWell() ? undefined : notReady()), renderError);
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

function notReady(): RestFailure {
  const header = { "retry-after": "1" };
  return new RestFailure(503, Code.Unavailable, "the server is not ready", header);
}

const well = { status: 200, body: { status: "ok" } };

/** Node omits the body of an answer to HEAD by itself. */
function answer(
  response: Parameters<NodeHandler>[1],
  failure: RestFailure | undefined,
  renderError: RenderError,
): void {
  const rendered: RenderedError = failure ? renderError(restErrorFrom(failure)) : well;
  const { status, body, contentType = "application/json" } = rendered;
  const header = { "content-type": contentType, "cache-control": "no-store" };
  response.writeHead(status, { ...header, ...failure?.header });
  response.end(JSON.stringify(body));
}
