import type http from "node:http";
import type { Http2ServerRequest, Http2ServerResponse, Http2Session } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { NodeHandler } from "../gateway/index.ts";
import { createHttp1Server, refuseRequest } from "./http1.ts";
import { createHttp2Server } from "./http2.ts";
import type { Limits } from "./limits.ts";
import { sniffProtocol } from "./sniff.ts";
import { readTlsMaterial, type TlsFiles, watchTlsMaterial } from "./tls.ts";

export interface PortOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly limits: Limits;
  /** Serves TLS, and nothing else, when given. */
  readonly tls: TlsFiles | undefined;
  readonly handler: NodeHandler;
  readonly onTlsError: (error: unknown) => void;
}

/** One TCP port that speaks HTTP/1.1 and HTTP/2, in clear or over TLS. */
export interface Port {
  readonly address: AddressInfo;
  /**
   * Takes no new connections or requests, lets those under way finish, and
   * closes. What has not finished after `timeoutMs` is cut off.
   */
  drain(timeoutMs: number): Promise<void>;
}

/**
 * Opens the port.
 *
 * The HTTP/1.1 server itself listens, because its header and request timeouts
 * run only then; what it would do with a connection waits until the first bytes
 * (or ALPN) have told which of the two servers the connection is for.
 *
 * @throws {SettingsError} for TLS files; the system's error if it cannot listen.
 */
export async function openPort(options: PortOptions): Promise<Port> {
  const { limits, tls } = options;
  const material = tls && readTlsMaterial(tls);
  const http1 = createHttp1Server(limits, material);
  const http2 = createHttp2Server(limits);
  const undecided = new Set<Socket>();
  const sessions = new Set<Http2Session>();
  let draining = false;

  http1.on("request", (request: http.IncomingMessage, response: http.ServerResponse) => {
    if (draining) response.shouldKeepAlive = false;
    // Node looks for idle connections only once, when the server closes.
    response.once("close", () => draining && setImmediate(() => http1.closeIdleConnections()));
    options.handler(request, response);
  });
  http2.on("request", (request: Http2ServerRequest, response: Http2ServerResponse) => {
    options.handler(request, response);
  });
  http2.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    if (draining) session.close();
  });

  const event = tls === undefined ? "connection" : "secureConnection";
  const [serveHttp1] = http1.listeners(event) as ((socket: Socket) => void)[];
  http1.removeAllListeners(event);
  http1.on(event, (socket: Socket | TLSSocket) => {
    socket.on("error", () => {}); // its close tells the rest
    if ("alpnProtocol" in socket) handOver(socket, socket.alpnProtocol || "http/1.1");
    else sniff(socket);
  });

  function sniff(socket: Socket): void {
    undecided.add(socket);
    socket.once("close", () => undecided.delete(socket));
    sniffProtocol(socket, limits.requestTimeoutMs, (protocol) => {
      undecided.delete(socket);
      handOver(socket, protocol);
    });
  }

  function handOver(socket: Socket, protocol: string): void {
    if (protocol === "h2") http2.emit("connection", socket);
    else if (protocol === "http/1.1") serveHttp1?.call(http1, socket);
    else refuseRequest(Object.assign(new Error(), { code: "ERR_HTTP_REQUEST_TIMEOUT" }), socket);
  }

  const unwatch =
    tls &&
    watchTlsMaterial(
      tls,
      (renewed) => "setSecureContext" in http1 && http1.setSecureContext(renewed),
      options.onTlsError,
    );

  await new Promise<void>((resolve, reject) => {
    http1.once("error", reject);
    http1.listen(options.port, options.host, () => {
      http1.off("error", reject);
      resolve();
    });
  });

  async function drain(timeoutMs: number): Promise<void> {
    draining = true;
    unwatch?.();
    const closed = new Promise<void>((resolve) => http1.close(() => resolve()));
    for (const socket of undecided) socket.destroy();
    for (const session of sessions) session.close();
    const cutOff = setTimeout(() => {
      http1.closeAllConnections();
      for (const session of sessions) session.destroy();
    }, timeoutMs);
    await closed;
    clearTimeout(cutOff);
  }

  return { address: http1.address() as AddressInfo, drain };
}
