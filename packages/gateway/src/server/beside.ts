import type { NodeHandler } from "../http/node-handler.ts";
import { RequestExchange } from "../http/request-exchange.ts";
import { type RenderError, renderStatus } from "../rest/error.ts";
import { errorResponse } from "../rest/response/response.ts";

export interface BesideOptions {
  readonly renderError: RenderError | undefined;
  readonly onError: (error: unknown) => void;
}

/** A handler beside the gateway that fails as a `fallback` does: the answer is an error, or breaks off. */
export function guardHandler(
  handler: NodeHandler,
  { renderError = renderStatus, onError }: BesideOptions,
): NodeHandler {
  return (...node) => {
    try {
      handler(...node);
    } catch (error) {
      onError(error);
      const exchange = new RequestExchange(node, "");
      if (exchange.isAnswered) exchange.breakOff();
      else exchange.respond(errorResponse(error, { renderError }));
    }
  };
}
