import type { HandlerContext, Interceptor } from "@connectrpc/connect";

/**
 * What connect-es does with the headers of an interceptor's response, without its bug: an
 * interceptor around all others, for one call at a time.
 */
export function createRepair() {
  let context: HandlerContext | undefined;
  let header: Headers | undefined;
  let trailer: Headers | undefined;

  const interceptor: Interceptor = (next) => async (request) => {
    const response = await next(request);
    if (context === undefined || header === undefined || trailer === undefined) return response;
    const { responseHeader, responseTrailer } = context;
    replace(responseHeader, header, response.header);
    replace(responseTrailer, trailer, response.trailer);
    return { ...response, header: responseHeader, trailer: responseTrailer };
  };

  return {
    interceptor,
    /** Stores what the protocol has set, before anyone else. */
    begin(begun: HandlerContext): void {
      context = begun;
      header = new Headers(begun.responseHeader);
      trailer = new Headers(begun.responseTrailer);
    },
  };
}

function replace(to: Headers, initial: Headers, from: Headers): void {
  if (to === from) return;
  for (const name of [...to.keys()]) to.delete(name);
  for (const [name, value] of [...initial, ...from]) {
    if (name === "set-cookie") to.append(name, value);
    else to.set(name, value);
  }
}
