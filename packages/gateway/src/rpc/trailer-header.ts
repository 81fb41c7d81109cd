import type { HandlerContext } from "@connectrpc/connect";
import { trailerMux } from "@connectrpc/connect/protocol-connect";
import { LazyHeaders, type NodeHeaders, toNodeHeaders } from "../http/headers.ts";

/** The trailers of a call before the application adds any. */
export const noTrailer = {};

/**
 * The headers of an answer that include its trailers, as fields that begin with `trailer-`. Connect
 * does this for unary calls.
 */
export function headerWithTrailer({
  responseHeader,
  responseTrailer,
}: Pick<HandlerContext, "responseHeader" | "responseTrailer">): NodeHeaders {
  const isPlain = responseTrailer instanceof LazyHeaders && responseTrailer.toNode() === noTrailer;
  if (isPlain && responseHeader instanceof LazyHeaders) return responseHeader.toNode();
  return toNodeHeaders(trailerMux(responseHeader, responseTrailer));
}
