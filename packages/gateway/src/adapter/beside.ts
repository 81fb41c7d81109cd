import type { NodeHandler } from "../http/node.ts";
import { RequestExchange } from "../http/request-exchange.ts";
import { type RenderError, renderStatus } from "../rest/error.ts";
import { errorResponse } from "../rest/response/response.ts";

export interface BesideOptions {
  readonly renderError: RenderError | undefined;
  readonly onError: (error: unknown) => void;
}

/** Guards a handler for other paths: if it throws or rejects, its client gets an error. */
export function guardHandler(
  handler: NodeHandler,
  { renderError = renderStatus, onError }: BesideOptions,
): (...node: Parameters<NodeHandler>) => Promise<void> {
  return async (request, response) => {
    try {
      await handler(request, response);
    } catch (error) {
      onError(error);
      const exchange = new RequestExchange(request, response, "");
      if (exchange.isAnswered) exchange.breakOff();
      else exchange.respond(errorResponse(error, { renderError }));
    }
  };
}
