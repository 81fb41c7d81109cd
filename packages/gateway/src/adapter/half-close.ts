import { constants } from "node:http2";
import type { NodeHandler } from "../http/node-handler.ts";

/**
 * Ends an answer of many messages when its client shuts its sending side. Nothing else tells that
 * a client has left who takes a stream in which nothing comes; it would go on for ever. An answer of
 * one message is sent all the same.
 */
export function endWithClient([request, response]: Parameters<NodeHandler>): void {
  // The socket of a request of HTTP/2 is mostly its stream.
  const socket = "stream" in request ? request.stream.session?.socket : request.socket;
  const end = () => {
    if ("stream" in response) response.stream.close(constants.NGHTTP2_CANCEL);
    else response.destroy();
  };
  if (socket === undefined || socket.readableEnded) {
    end();
    return;
  }
  socket.setMaxListeners(0); // one for each stream of the connection
  socket.once("end", end);
  const off = socket.off.bind(socket); // a session of HTTP/2 that is over hands its socket out no more
  response.once("close", () => off("end", end));
}
