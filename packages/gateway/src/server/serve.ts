import type { AddressInfo } from "node:net";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { guardHandler } from "../adapter/beside.ts";
import { type GatewayHandler, type GatewayOptions, gatewayNodeAdapter } from "../adapter/node.ts";
import { BodyBudget } from "../http/body-budget.ts";
import type { NodeHandler } from "../http/node.ts";
import { parseRequestTarget } from "../http/target.ts";
import { logError } from "../rpc/errors.ts";
import { type PortLimits, resolveLimits, timerMaxMs } from "./limits.ts";
import { openPort, type TrafficObserver } from "./port.ts";
import type { TlsFiles } from "./tls.ts";

/** The options of `gatewayNodeAdapter`, and those of the port. */
export interface ServeOptions extends Omit<GatewayOptions, "routes"> {
  /** The address to listen at. Default: all. */
  readonly host?: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Registers the services. */
  readonly routes: (router: ConnectRouter, server: ServerLifetime) => void;
  /**
   * What is served beside the services, and before them, by its exact path: `/healthz`, a page.
   * What one throws goes to `onError`, and its client gets an internal error.
   */
  readonly handlers?: (server: ServerLifetime) => ReadonlyMap<string, NodeHandler>;
  /** The largest message that is read, in bytes. Default: 4 MiB, as in gRPC. */
  readonly readMaxBytes?: number;
  /** Bounds connections, and what arrives on them. Default: `defaultLimits`. */
  readonly limits?: Partial<PortLimits>;
  /** Serves TLS, and nothing else. Files that change are read again. Default: plaintext. */
  readonly tls?: TlsFiles | undefined;
  /** Told when changed TLS files cannot be used; the old ones stay in use. Default: `onError`. */
  readonly onTlsError?: (error: unknown) => void;
  /** Whether other threads or processes may listen to the same port. Default: no. */
  readonly reusePort?: boolean;
  /** Told of connections, certificates, and requests rejected by the rules of HTTP. */
  readonly traffic?: TrafficObserver | undefined;
}

/** What routes and handlers may want to know of their server. */
export interface ServerLifetime {
  /** Aborts when the server begins to drain; its reason is the error for calls that end for it. */
  readonly draining: AbortSignal;
}

/** What a server serves, as far as it may become another. */
export type ServedOptions = Pick<ServeOptions, "routes" | "rest" | "jsonOptions">;

export interface Server {
  readonly address: AddressInfo;
  /**
   * Serves other routes from now on, with what is given in place of the options of `serve`. Calls
   * under way go on as they are.
   *
   * @throws {RuleError} for an option of REST that cannot be served: all stays as it was.
   */
  update(options: Partial<ServedOptions>): void;
  /**
   * Takes no new connections or requests, lets those under way finish, and closes. Calls that
   * have not finished after `timeoutMs` are aborted with `unavailable`; half a second later
   * their connections are cut. Over 24 days, or Infinity, are 24 days.
   */
  drain(timeoutMs: number): Promise<void>;
}

const readMaxBytesDefault = 4 * 1024 * 1024;

/** How long aborted calls have to say so. */
const abortedCallsMs = 500;

/**
 * Serves Connect services on one port: gRPC, gRPC-Web, Connect and REST, over HTTP/1.1 and
 * HTTP/2, in plaintext or over TLS.
 *
 * @throws {RuleError} for an option of REST that cannot be served.
 * @throws {RangeError} for a limit that is not a whole number from 1 to 2^31 - 1.
 * @throws {TlsFilesError} for TLS files that cannot be used.
 * @throws {TypeError} for an address of `connectionsExempt` that is none.
 * @throws {Error} on a runtime whose `node:http` does not hand over its connections: Bun.
 * @throws the system's error if it cannot listen.
 */
export async function serve(options: ServeOptions): Promise<Server> {
  const limits = resolveLimits(options.limits ?? {});
  const draining = new AbortController();
  const shutdown = new AbortController();
  const lifetime: ServerLifetime = { draining: draining.signal };
  const { handlers, onError = logError, bodyBudget = new BodyBudget() } = options;
  const shutdownSignal =
    options.shutdownSignal === undefined
      ? shutdown.signal
      : AbortSignal.any([shutdown.signal, options.shutdownSignal]);
  const createGateway = (served: ServeOptions) =>
    gatewayNodeAdapter({
      ...served,
      onError,
      bodyBudget,
      readMaxBytes: options.readMaxBytes ?? readMaxBytesDefault,
      routes: (router) => served.routes(router, lifetime),
      shutdownSignal,
    });
  let gateway = createGateway(options);
  // By its exact path: one look for all that is beside the services.
  const guard = { renderError: options.rest?.renderError, onError };
  const beside = new Map(
    [...(handlers?.(lifetime) ?? [])].map(([path, one]) => [path, guardHandler(one, guard)]),
  );
  const findBeside = (target = "") => beside.get(parseRequestTarget(target).path);
  const serveRequest = (...[request, response]: Parameters<NodeHandler>) =>
    (findBeside(request.url) ?? gateway)(request, response);
  const serveStream: GatewayHandler["serveStream"] = (stream, headers, rawHeaders) =>
    findBeside(headers[":path"]) === undefined && gateway.serveStream(stream, headers, rawHeaders);

  const port = await openPort({
    host: options.host,
    port: options.port,
    reusePort: options.reusePort ?? false,
    limits,
    tls: options.tls,
    handler: Object.assign(serveRequest, { serveStream }),
    renderError: options.rest?.renderError,
    onTlsError: options.onTlsError ?? onError,
    traffic: options.traffic,
  });

  async function drain(timeoutMs: number): Promise<void> {
    const callsMs = Math.min(timeoutMs, timerMaxMs - abortedCallsMs);
    const reason = new ConnectError("the server is shutting down", Code.Unavailable);
    draining.abort(reason);
    const cutOff = setTimeout(() => shutdown.abort(reason), callsMs);
    await port.drain(callsMs + abortedCallsMs);
    clearTimeout(cutOff);
  }

  return {
    address: port.address,
    update(served) {
      gateway = createGateway({ ...options, ...served });
    },
    drain,
  };
}
