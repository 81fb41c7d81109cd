import type { Http2Session } from "node:http2";

/** Windows of HTTP/2 that are larger than any distance of the bench needs. */
export const openWindows = {
  settings: { initialWindowSize: 16 * 2 ** 20 },
  open: (session: Http2Session): void => session.setLocalWindowSize(64 * 2 ** 20),
};
