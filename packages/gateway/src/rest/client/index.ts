/** A client of REST servers, for `createClient` of Connect. It needs `fetch` alone. */
export { createRestTransport, type RestTransportOptions } from "./transport.ts";
