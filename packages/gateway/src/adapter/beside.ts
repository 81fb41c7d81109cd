import type { Response } from "../http/exchange.ts";
import type { NodeHeaders } from "../http/headers.ts";
import { exchangeFor, type NodeHandler } from "../http/node.ts";
import { type RenderError, renderStatus } from "../rest/error.ts";
import { errorResponse } from "../rest/response/response.ts";
import { type ApplyCors, isPreflight } from "./cors.ts";

export interface BesideOptions {
  readonly renderError: RenderError | undefined;
  readonly onError: (error: unknown) => void;
  /** For pages of other origins. Default: the handler's own affair. */
  readonly applyCors?: ApplyCors | undefined;
}

/** Guards a handler for other paths: if it throws or rejects, its client gets an error. */
export function guardHandler(
  handler: NodeHandler,
  { renderError = renderStatus, onError, applyCors }: BesideOptions,
): (...node: Parameters<NodeHandler>) => Promise<void> {
  return async (request, response) => {
    try {
      if (applyCors !== undefined) {
        const { method = "", headers } = request;
        const addHeader = (header: NodeHeaders) => {
          for (const name in header) response.setHeader(name, `${header[name]}`);
        };
        const respond = ({ status, header }: Response) => {
          addHeader(header);
          response.statusCode = status;
          response.end();
        };
        const exchange = { method, headers, addHeader, respond };
        applyCors(exchange, []);
        if (isPreflight(exchange)) return;
      }
      await handler(request, response);
    } catch (error) {
      onError(error);
      const exchange = exchangeFor(request, response);
      if (exchange.isAnswered) exchange.breakOff();
      else exchange.respond(errorResponse(error, { renderError }));
    }
  };
}
