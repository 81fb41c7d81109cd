import type { NodeHandler } from "../gateway/index.ts";

/**
 * `GET /healthz`: the process runs. `GET /readyz`: it would accept work; 503
 * while it drains or its store cannot write. No token needed: neither is an
 * operation of the plant store.
 *
 * @returns the response for a path of ours, or undefined.
 */
export function createHealthHandler(
  isReady: () => boolean,
): (url: string) => NodeHandler | undefined {
  const handlers = new Map<string, NodeHandler>([
    ["/healthz", (request, response) => answer(request.method, response, true)],
    ["/readyz", (request, response) => answer(request.method, response, isReady())],
  ]);
  return (url) => handlers.get(url);
}

function answer(
  method: string | undefined,
  response: Parameters<NodeHandler>[1],
  isWell: boolean,
): void {
  const isRead = method === "GET" || method === "HEAD";
  const status = isRead ? (isWell ? 200 : 503) : 405;
  response.writeHead(status, {
    "content-type": "application/json",
    "cache-control": "no-store",
    ...(status === 405 && { allow: "GET, HEAD" }),
  });
  // Node leaves the body of an answer to HEAD out by itself.
  response.end(JSON.stringify({ status: isWell ? "ok" : "unavailable" }));
}
