import type { NodeHandler } from "./node-handler.ts";

/**
 * Sends 100 (Continue) when the body of a request is first read. So a request that is rejected by
 * its headers never asks for the body (RFC 9110 section 10.1.1). For listeners of `checkContinue`
 * only: for other requests, Node has already sent it.
 */
export function continueWhenRead(...[request, response]: Parameters<NodeHandler>): void {
  const read = request._read;
  request._read = (size) => {
    request._read = read;
    if (!isOver(response)) response.writeContinue();
    read.call(request, size);
  };
}

/** Whether an answer has begun or is no longer possible. What is read then is discarded. */
function isOver(response: Parameters<NodeHandler>[1]): boolean {
  if (response.headersSent) return true;
  return "stream" in response && (response.stream.destroyed || response.stream.closed);
}
