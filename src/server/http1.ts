import http from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Code } from "@connectrpc/connect";
import { errorBody } from "./error-body.ts";
import type { Limits } from "./limits.ts";
import type { TlsMaterial } from "./tls.ts";

/** A listening server for HTTP/1.1, whose connections the one port looks at first. */
export function createHttp1Server(
  limits: Limits,
  tls: TlsMaterial | undefined,
): http.Server | https.Server {
  const options: http.ServerOptions = {
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.requestTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    // How often the two above are looked at; they end up to this much late.
    connectionsCheckingInterval: Math.min(1000, limits.requestTimeoutMs),
    keepAliveTimeout: limits.idleTimeoutMs,
    keepAlive: true,
    noDelay: true,
    // The gateway refuses a request without a Host itself, with an error body.
    requireHostHeader: false,
  };
  const server =
    tls === undefined
      ? http.createServer(options)
      : https.createServer({
          ...options,
          ...tls,
          ALPNProtocols: ["h2", "http/1.1"],
          handshakeTimeout: limits.requestTimeoutMs,
        });
  server.maxConnections = limits.connectionsMax;
  server.on("clientError", refuseRequest);
  server.on("connect", (_request, socket) => writeRefusal(socket, 405, Code.Unimplemented));
  server.on("checkExpectation", (_request, response) => {
    const body = JSON.stringify(errorBody(Code.InvalidArgument, "Expect must be 100-continue"));
    response.writeHead(417, { "content-type": "application/json" }).end(body);
  });
  return server;
}

/** Answers what the parser refuses, where an answer still has a place. */
export function refuseRequest(error: Error & { code?: string }, socket: Duplex): void {
  const { _httpMessage: response } = socket as { _httpMessage?: http.ServerResponse };
  if (!socket.writable || error.code === "ECONNRESET" || response?.headersSent === true) {
    socket.destroy();
    return;
  }
  switch (error.code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      writeRefusal(socket, 408, Code.DeadlineExceeded);
      break;
    case "HPE_HEADER_OVERFLOW":
      writeRefusal(socket, 431, Code.ResourceExhausted);
      break;
    default:
      writeRefusal(socket, 400, Code.InvalidArgument);
  }
}

const refusals = {
  400: "the request is not valid HTTP/1.1",
  405: "the method must be POST",
  408: "the request took too long to arrive",
  431: "the request headers are too large",
};

function writeRefusal(socket: Duplex, status: keyof typeof refusals, code: Code): void {
  const body = JSON.stringify(errorBody(code, refusals[status]));
  socket.end(
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
    () => (socket as Socket).destroySoon(),
  );
}
