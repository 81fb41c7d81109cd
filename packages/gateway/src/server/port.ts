import { once } from "node:events";
import { chmodSync, lstatSync, renameSync, unlinkSync } from "node:fs";
import type http from "node:http";
import type { Http2Session } from "node:http2";
import { type AddressInfo, connect, type Socket } from "node:net";
import { dirname, join } from "node:path";
import type { TLSSocket } from "node:tls";
import { guarded } from "../errors/errors.ts";
import { createAddressLimit, createConnectionLimit, limitHalfOpen } from "./connection-limits.ts";
import { closeAfter, createHttp1Server, limitConnections, refuseLast } from "./http1.ts";
import { createHttp2Server, type Http2Intake, type PortHandler, takeListener } from "./http2.ts";
import { freeRequests, Intake } from "./intake.ts";
import type { PortLimits } from "./limits.ts";
import { createRefusals, type OnRefusal } from "./refusal.ts";
import { expiryOf, readTlsMaterial, type TlsFiles, watchTlsMaterial } from "./tls.ts";

/** Where to listen, and whom to tell. */
export interface ListenOptions {
  /** The address to listen on. Default: all. */
  readonly host?: string;
  /** 0 for any free one. */
  readonly port?: number;
  /** A Unix socket, in place of host and port. One that a killed server left is replaced. */
  readonly path?: string;
  /** The mode of that socket: `0o660` for a proxy of the same group. Default: by the umask. */
  readonly socketMode?: number;
  /** Serves only TLS. Changed files are read again. Default: plaintext. */
  readonly tls?: TlsFiles | undefined;
  /** Called when changed TLS files cannot be used; the old ones stay in use. Default: `onError`. */
  readonly onTlsError?: (error: unknown) => void;
  /** Whether other threads or processes may listen to the same port. Default: no. */
  readonly reusePort?: boolean;
  /** Observes connections, certificates, and requests rejected by the rules of HTTP. */
  readonly traffic?: TrafficObserver | undefined;
}

export interface PortOptions extends ListenOptions {
  readonly limits: PortLimits;
  readonly handler: PortHandler;
  readonly responseFor: Parameters<typeof createRefusals>[1];
  readonly onTlsError: (error: unknown) => void;
  readonly onError: (error: unknown) => void;
}

export type Port = Awaited<ReturnType<typeof openPort>>;

/** Observes connections, certificates, and requests rejected by the rules of HTTP. */
export interface TrafficObserver {
  opened?(socket: Socket): void;
  readonly refused: OnRefusal;
  /** Called with the expiry of the TLS certificate in use: at the start, and after each reload. */
  certificateUsed?(expiresAt: Date): void;
}

/** How long a client may take to close its side of a finished HTTP/2 connection. */
const closeTimeoutMs = 1000;

/** How long an idle connection may stay open in a drain. */
const sweepIntervalMs = 20;

/**
 * Opens the port. The HTTP/1.1 server itself listens, because its timeouts work only then. The
 * first bytes, or ALPN, decide which of the two servers gets a connection.
 * @throws {TypeError} for an invalid exempt address; {TlsFilesError}; the system's error if it
 * cannot listen.
 */
export async function openPort(options: PortOptions) {
  const { limits, tls, handler, traffic, responseFor, onError } = options;
  const tell: OnRefusal = (refusal) => guarded(onError, () => traffic?.refused(refusal));
  const refusals = createRefusals(limits.idleTimeoutMs, responseFor, tell);
  const admit = createAddressLimit(limits);
  const material = tls && readTlsMaterial(tls);
  const undecided = new Set<Socket>();
  const sessions = new Map<Http2Session, () => void>();
  let starting: Socket;
  const connections = createConnectionLimit(limits.connectionsMax);
  // With TLS, the connection below is counted: it exists before the handshake.
  const onRequested = (socket: LayeredSocket) => {
    if (!socket.readableEnded) connections.keep(socket._parent ?? socket);
  };
  let draining = false;

  const http1 = createHttp1Server(
    limits,
    material,
    (request, response) => {
      if (draining) closeAfter(response);
      void handler(request, response);
    },
    refusals,
    onRequested,
  );
  const connectionsOfHttp1 = limitConnections(http1, limits, refusals);
  const intake: Http2Intake = new Intake();
  const http2 = createHttp2Server(limits, handler, refusals, intake, onRequested);
  http2.on("session", (session) => {
    // Once what was read is known, and the server's SETTINGS are sent.
    const leave = setImmediate.bind(undefined, leaveSession, session, starting);
    sessions.set(session, leave);
    session.once("close", () => sessions.delete(session));
    if (draining) leave();
  });

  const event = tls === undefined ? "connection" : "secureConnection";
  const serveHttp1: (socket: Socket) => void = takeListener(http1, event);
  http1.prependListener("connection", (socket: Socket) => {
    if (!admit(socket) || !connections.admit(socket)) {
      socket.destroy();
      return;
    }
    undecided.add(socket);
    guarded(onError, () => traffic?.opened?.(socket));
    socket.once("close", () => undecided.delete(socket));
    if (tls !== undefined) return;
    socket.on("error", ignore); // its close event follows
    sniffProtocol(socket, limits.requestTimeoutMs, handOver);
  });
  http1.on("secureConnection", (socket: TLSSocket & LayeredSocket) => {
    socket.on("error", ignore); // its close event follows
    handOver(socket, socket.alpnProtocol === "h2" ? "h2" : "http/1.1");
  });

  function startHttp2(socket: Socket): void {
    socket.once("finish", () => setTimeout(() => socket.destroy(), closeTimeoutMs).unref());
    starting = socket;
    http2.emit("connection", socket);
  }

  function handOver(socket: LayeredSocket, protocol: Protocol | "timeout", seen?: Buffer): void {
    const counted = socket._parent ?? socket;
    undecided.delete(counted);
    limitHalfOpen(socket, limits);
    socket.once("end", () => connections.release(counted));
    if (protocol === "timeout") refuseLast(socket, "late", refusals);
    else if (protocol === "http/1.1") {
      connectionsOfHttp1.limit(socket);
      serveHttp1.call(http1, socket);
      // Node's parser reads from below the socket until someone listens to the socket's data. TLS
      // passes on all that it has decrypted, even while the client reads no answers. The parser,
      // also paused, would reject that. With a listener, the socket keeps it.
      if (tls !== undefined) socket.on("data", ignore);
    } else if (seen === undefined || requestsIn(seen) <= freeRequests) startHttp2(socket);
    // Not read any further: if a session starts with several pieces and the first one breaks it, Node
    // ends the process.
    else intake.start(socket, () => startHttp2(socket));
  }

  const useCertificate: Parameters<typeof watchTlsMaterial>[1] = (used) => {
    if ("setSecureContext" in http1) http1.setSecureContext(used);
    // Clients may have the certificate of a CA whose own one is signed by another that the file lacks,
    // as in Go. Node's servers do not pass on the option `allowPartialTrustChain`, so it is set in the
    // undocumented context of all connections of a server with TLS.
    Reflect.get(http1, "_sharedCreds")?.context.setAllowPartialTrustChain?.();
    guarded(onError, () => traffic?.certificateUsed?.(expiryOf(used)));
  };

  if (material !== undefined) useCertificate(material);
  await listen(http1, options);
  // Not before: if listening failed, it would never stop.
  const unwatch = tls && watchTlsMaterial(tls, useCertificate, options.onTlsError);

  /** Accepts no new connections, and closes after the last answer, or after `timeoutMs`. */
  async function drain(timeoutMs: number): Promise<void> {
    draining = true;
    unwatch?.();
    const closeIdle = http1.closeIdleConnections;
    http1.closeIdleConnections = ignore; // requests on them may be under way
    const closed = new Promise<void>((resolve) => http1.close(() => resolve()));
    connectionsOfHttp1.leave();
    for (const leave of sessions.values()) leave();
    // An immediate: requests that have arrived are read before.
    const sweep = setInterval(setImmediate, sweepIntervalMs, () => {
      for (const socket of undecided) socket.destroy();
      closeIdle.call(http1);
    });
    const cutOff = setTimeout(() => {
      for (const socket of connections.open) socket.destroy();
    }, timeoutMs);
    await closed;
    clearInterval(sweep);
    clearTimeout(cutOff);
  }

  const ofPath = options.path && { address: options.path, family: "unix", port: 0 };
  const address: AddressInfo = ofPath || (http1.address() as AddressInfo);
  return { address, drain };
}

// RFC 9113 section 6.8, with 2^31 - 1 as the last stream and no error.
const goingAway = Buffer.from("0000080700000000007fffffff00000000", "hex");

/**
 * Sends GOAWAY without a last stream, and a round trip later the one of Node, so that requests in
 * flight are served. After any GOAWAY of its own, nghttp2 ignores new streams, so the first one is
 * written to the socket. Over TLS and in Deno, a write during another one aborts the process: their
 * clients get the last GOAWAY alone.
 */
function leaveSession(session: Http2Session, socket: Socket): void {
  if (session.destroyed) return;
  const close = () => session.close();
  const isAlone = session.encrypted || "Deno" in globalThis;
  if (!isAlone) socket.write(goingAway);
  if (isAlone || !session.ping(close)) {
    close();
    return;
  }
  const timer = setTimeout(close, closeTimeoutMs);
  session.once("close", () => clearTimeout(timer));
}

/** For TLS, Node keeps the connection below. */
type LayeredSocket = Socket & { readonly _parent?: Socket | null };

async function listen(server: http.Server, options: PortOptions): Promise<void> {
  const { host, port, path, socketMode, reusePort = false } = options;
  // Node 22.23 and 26.10 would listen at the start of a longer path.
  if (process.platform === "linux" && Buffer.byteLength(path ?? "") > 107) {
    const facts = { code: "ENAMETOOLONG", syscall: "listen", address: path, port: -1 };
    throw Object.assign(new Error(`listen ENAMETOOLONG: name too long ${path}`), facts);
  }
  if (path !== undefined) await removeStale(path);
  const inNetwork = { port, reusePort, ...(host !== undefined && { host }) };
  // Node refuses a path that is a number.
  server.listen(path === undefined ? inNetwork : { path: Number(path) >= 0 ? `./${path}` : path });
  await once(server, "listening");
  if (path !== undefined && socketMode !== undefined) chmodSync(path, socketMode);
}

/**
 * Removes the socket of a server that was killed. Two servers that start at once may both find it:
 * each moves away what is there by then, and puts it back if the other listens at it already.
 */
async function removeStale(path: string): Promise<void> {
  if (!(await isStale(path))) return;
  const aside = join(dirname(path), `.${process.pid}`); // the system limits the length of a path
  try {
    renameSync(path, aside);
  } catch {
    return; // another process was faster
  }
  if (await isStale(aside)) unlinkSync(aside);
  else renameSync(aside, path);
}

async function isStale(path: string): Promise<boolean> {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSocket()) return false;
  const socket = connect({ path }); // a text like ".30334" would be a port
  const refused = await once(socket, "connect").catch(({ code }) => code === "ECONNREFUSED");
  socket.destroy();
  return refused === true;
}

function ignore(): void {}

// RFC 9113 section 3.4: how every HTTP/2 connection with prior knowledge begins.
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

type Protocol = "http/1.1" | "h2";

/** The number of HEADERS frames in the first bytes of an HTTP/2 connection (RFC 9113 section 4.1). */
function requestsIn(bytes: Buffer): number {
  let count = 0;
  for (let at = preface.length; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    if (bytes[at + 3] === 1) count++;
  }
  return count;
}

/**
 * Detects the protocol of a connection by its first bytes. `P` may begin POST, PUT, PATCH or PRI,
 * so it waits until only one protocol is possible. The bytes stay in the socket for its reader.
 */
function sniffProtocol(
  socket: Socket,
  timeoutMs: number,
  onDecided: (socket: Socket, protocol: Protocol | "timeout", seen: Buffer) => void,
): void {
  let seen: Buffer = Buffer.alloc(0);

  function onReadable(): void {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    seen = Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, preface.length);
    if (seen.compare(preface, 0, length, 0, length) !== 0) decide("http/1.1");
    else if (length === preface.length) decide("h2");
  }

  function decide(protocol: Protocol | "timeout"): void {
    stop();
    if (seen.length > 0) socket.unshift(seen);
    onDecided(socket, protocol, seen);
  }

  function stop(): void {
    clearTimeout(timer);
    socket.off("readable", onReadable).off("end", end).off("close", stop);
  }

  const end = () => socket.destroy(); // usually of a health check that only connects
  const timer = setTimeout(decide, timeoutMs, "timeout");
  socket.on("readable", onReadable).on("end", end).on("close", stop);
}
