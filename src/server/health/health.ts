import { Code } from "@connectrpc/connect";
import type { NodeHandler } from "../../gateway/index.ts";
import { errorBody } from "../error-body.ts";

/**
 * `GET /healthz`: the process runs. `GET /readyz`: it would accept work; 503
 * while it drains, or once its store has failed. No token needed: neither is an
 * operation of the plant store.
 *
 * Both stand at the root, where probes look, and below the base path, which may
 * be all that a proxy lets through.
 *
 * @returns the handlers by their whole paths.
 */
export function createHealthHandlers(
  basePath: string,
  isReady: () => boolean,
): ReadonlyMap<string, NodeHandler> {
  const serveHealth: NodeHandler = (request, response) => answer(request.method, response, true);
  const serveReadiness: NodeHandler = (request, response) =>
    answer(request.method, response, isReady());
  return new Map(
    ["", basePath].flatMap((prefix) => [
      [`${prefix}/healthz`, serveHealth],
      [`${prefix}/readyz`, serveReadiness],
    ]),
  );
}

function answer(
  method: string | undefined,
  response: Parameters<NodeHandler>[1],
  isWell: boolean,
): void {
  const header = { "content-type": "application/json", "cache-control": "no-store" };
  // Node leaves the body of an answer to HEAD out by itself.
  if (method !== "GET" && method !== "HEAD") {
    response.writeHead(405, { ...header, allow: "GET, HEAD" });
    response.end(JSON.stringify(errorBody(Code.Unimplemented, "the method must be GET or HEAD")));
  } else if (isWell) {
    response.writeHead(200, header);
    response.end(JSON.stringify({ status: "ok" }));
  } else {
    response.writeHead(503, { ...header, "retry-after": "1" });
    response.end(JSON.stringify(errorBody(Code.Unavailable, "the server takes no plants now")));
  }
}
