import { lstatSync, unlinkSync } from "node:fs";
import type http from "node:http";
import type { Http2Session } from "node:http2";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { type RenderError, renderStatus } from "../rest/error.ts";
import { createAddressLimit } from "./address-limit.ts";
import { ConnectionLimit } from "./connection-limit.ts";
import { createHttp1Server, limitConnections, refuseLast } from "./http1.ts";
import { createHttp2Server, type PortHandler } from "./http2.ts";
import type { PortLimits } from "./limits.ts";
import { type OnRefusal, Refusals } from "./refusal.ts";
import { type Protocol, sniffProtocol } from "./sniff.ts";
import {
  expiryOf,
  readTlsMaterial,
  type TlsFiles,
  type TlsMaterial,
  watchTlsMaterial,
} from "./tls.ts";

export interface PortOptions {
  /** Undefined: every address. */
  readonly host: string | undefined;
  /** 0 takes a free one. */
  readonly port: number | undefined;
  /** A socket of this machine, in place of host and port. */
  readonly path?: string | undefined;
  /** Whether others listen to the same port, and the kernel spreads the connections. Default: no. */
  readonly reusePort?: boolean;
  readonly limits: PortLimits;
  /** Serves TLS, and nothing else, when given. */
  readonly tls: TlsFiles | undefined;
  readonly handler: PortHandler;
  /** Renders what the port itself refuses, as `rest.renderError` does. Default: `google.rpc.Status`. */
  readonly renderError?: RenderError | undefined;
  readonly onTlsError: (error: unknown) => void;
  readonly traffic?: TrafficObserver | undefined;
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

/** Told of connections, certificates, and requests rejected by the rules of HTTP. */
export interface TrafficObserver {
  opened(socket: Socket): void;
  readonly refused: OnRefusal;
  /** Called with the expiry of the TLS certificate in use: at the start, and after each reload. */
  certificateUsed?(expiresAt: Date): void;
}

/** How long a client may take to close its end of an HTTP/2 connection that is over. */
const closeTimeoutMs = 1000;

/** How long a connection may stay open behind its last answer in a drain. */
const sweepIntervalMs = 20;

/**
 * Opens the port.
 *
 * The HTTP/1.1 server itself listens, because its header and request timeouts
 * run only then; what it would do with a connection waits until the first bytes
 * (or ALPN) have told which of the two servers the connection is for.
 *
 * @throws {TypeError} for an exempt address that is none, {@link TlsFilesError}, or the system's error if it cannot listen.
 */
export async function openPort(options: PortOptions): Promise<Port> {
  const { limits, tls, handler, traffic } = options;
  const refusals = new Refusals(options.renderError ?? renderStatus, (kind) =>
    traffic?.refused(kind),
  );
  const admit = createAddressLimit(limits);
  const material = tls && readTlsMaterial(tls);
  const sockets = new Set<Socket>();
  const undecided = new Set<Socket>();
  const sessions = new Set<Http2Session>();
  const connections = new ConnectionLimit(limits.connectionsMax);
  // Of TLS, what is counted is the connection below: it is there before its handshake.
  const onRequested = (socket: LayeredSocket) => connections.keep(socket._parent ?? socket);
  let draining = false;

  const http1 = createHttp1Server(
    limits,
    material,
    (request, response) => {
      if (draining) response.shouldKeepAlive = false;
      void handler(request, response);
    },
    refusals,
    onRequested,
  );
  const limitConnection = limitConnections(http1, limits, refusals);
  const http2 = createHttp2Server(limits, handler, refusals, onRequested);
  http2.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    if (draining) session.close();
  });

  const serveHttp1 = takeConnections(http1, tls === undefined ? "connection" : "secureConnection");
  http1.prependListener("connection", (socket: Socket) => {
    if (!admit(socket) || !connections.admit(socket)) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    undecided.add(socket);
    traffic?.opened(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      undecided.delete(socket);
    });
    if (tls !== undefined) return;
    socket.on("error", ignoreError);
    sniffProtocol(socket, limits.requestTimeoutMs, (protocol) => {
      // At once: a session of HTTP/2 that finds more than one piece of what was read ends the
      // process if the first of them breaks it.
      undecided.delete(socket);
      handOver(socket, protocol);
    });
  });
  http1.on("secureConnection", (socket: TLSSocket & LayeredSocket) => {
    if (socket._parent) undecided.delete(socket._parent);
    socket.on("error", ignoreError);
    handOver(socket, socket.alpnProtocol === "h2" ? "h2" : "http/1.1");
  });

  function handOver(socket: Socket, protocol: Protocol | "timeout"): void {
    switch (protocol) {
      case "h2":
        limitHalfOpen(socket, limits);
        socket.once("finish", () => setTimeout(() => socket.destroy(), closeTimeoutMs).unref());
        http2.emit("connection", socket);
        break;
      case "http/1.1":
        limitConnection(socket);
        limitHalfOpen(socket, limits);
        serveHttp1.call(http1, socket);
        if (tls !== undefined) parseWhatIsRead(socket);
        break;
      case "timeout":
        refuseLast(socket, "late", { limits, refusals });
    }
  }

  function useCertificate(renewed: TlsMaterial): void {
    if ("setSecureContext" in http1) http1.setSecureContext(renewed);
    traffic?.certificateUsed?.(expiryOf(renewed));
  }

  if (material !== undefined) traffic?.certificateUsed?.(expiryOf(material));
  await listen(http1, options);
  // Only now: nobody could stop it if listening failed.
  const unwatch = tls && watchTlsMaterial(tls, useCertificate, options.onTlsError);

  async function drain(timeoutMs: number): Promise<void> {
    draining = true;
    unwatch?.();
    const closed = new Promise<void>((resolve) => http1.close(() => resolve()));
    for (const socket of undecided) socket.destroy();
    for (const session of sessions) session.close();
    // Node looks for idle connections only once, when the server closes.
    const sweep = setInterval(() => http1.closeIdleConnections(), sweepIntervalMs);
    const cutOff = setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, timeoutMs);
    await closed;
    clearInterval(sweep);
    clearTimeout(cutOff);
  }

  const { path } = options;
  const address =
    path === undefined
      ? (http1.address() as AddressInfo)
      : { address: path, family: "unix", port: 0 };
  return { address, drain };
}

/** With Node's note of the connection below, which one of TLS has. */
type LayeredSocket = Socket & { readonly _parent?: Socket | null };

/**
 * Takes Node's own listener off the event, and returns it.
 *
 * @throws where there is not just that one: Bun serves the connections of a listening server itself,
 * and HTTP/2 would never be served.
 */
function takeConnections(server: http.Server, event: "connection" | "secureConnection") {
  const [serve, ...others] = server.listeners(event) as ((socket: Socket) => void)[];
  if (serve === undefined || others.length > 0) {
    throw new Error(
      "this runtime's node:http does not hand over its connections, so one port cannot serve both " +
        "versions of HTTP: serve gatewayNodeAdapter with node:http and node:http2 instead",
    );
  }
  server.off(event, serve);
  return serve;
}

/**
 * Node's parser takes what comes from below the socket, until someone else listens to
 * its data. TLS hands over all that it has decrypted, even when the socket is paused
 * (while a client takes no answers), and the parser, paused as well, would refuse it.
 * The socket keeps it until it is read again, and then hands it to the parser in order.
 */
function parseWhatIsRead(socket: Socket): void {
  socket.on("data", ignore);
}

/** A client that has shut its side gets what it has asked for, unless that takes for ever. */
function limitHalfOpen(socket: Socket, { idleTimeoutMs }: PortLimits): void {
  socket.once("end", () => {
    const cutOff = setTimeout(() => socket.destroy(), idleTimeoutMs).unref();
    socket.once("close", () => clearTimeout(cutOff));
  });
}

async function listen(
  server: http.Server,
  { host, port, path, reusePort = false }: PortOptions,
): Promise<void> {
  if (path !== undefined) await removeStale(path);
  const place =
    path === undefined ? { port, ...(host !== undefined && { host }), reusePort } : { path };
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(place, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** Removes the socket of a server that was killed: nobody listens there any more. */
async function removeStale(path: string): Promise<void> {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSocket()) return;
  const socket = connect(path);
  const code = await new Promise<string | undefined>((resolve) => {
    socket.once("connect", () => resolve(undefined));
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code));
  });
  socket.destroy();
  if (code === "ECONNREFUSED") unlinkSync(path);
}

/** An error of a connection is its client's affair: its close tells the rest. */
function ignoreError(): void {}

function ignore(): void {}
