import type { AddressInfo } from "node:net";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { createNodeGateway, type GatewayOptions, gatewayOptionKinds } from "../adapter/node.ts";
import { createErrorListener } from "../errors/errors.ts";
import type { NodeHandler } from "../http/request-exchange.ts";
import { assertOptions, type OptionKindsOf, optionKinds } from "../rpc/options.ts";
import { type PortLimits, resolveLimits, timerMaxMs } from "./limits.ts";
import { type ListenOptions, openPort } from "./port.ts";

/** The options of `gatewayNodeAdapter`, and those of the port. */
export interface ServeOptions extends Omit<GatewayOptions, "routes">, ListenOptions {
  readonly routes: (router: ConnectRouter, server: ServerLifetime) => void;
  /**
   * Handlers by exact path, for example `/healthz`. They come before the services. If one throws or
   * rejects, the error goes to `onError` and its client gets 500.
   */
  readonly handlers?: (server: ServerLifetime) => ReadonlyMap<string, NodeHandler>;
  /** The largest message that is read, in bytes. Default: 4 MiB, as in gRPC. */
  readonly readMaxBytes?: number;
  /** Limits on connections, and on what they send. Default: `defaultLimits`. */
  readonly limits?: Partial<PortLimits>;
}

/** The state of the server, for routes and handlers. */
export interface ServerLifetime {
  /** Aborts when the server begins to drain, with the error for calls that it ends. */
  readonly draining: AbortSignal;
}

/** The options that `update` can change. */
export type ServedOptions = Pick<ServeOptions, "routes" | "rest" | "jsonOptions" | "mcp">;

export interface Server {
  /** Of a socket, `address` is its path, and `port` 0. */
  readonly address: AddressInfo;
  /**
   * Replaces options of `serve` for new calls. Calls in progress continue unchanged.
   * @throws {RuleError} for a REST option that cannot be served. Nothing changes then.
   */
  update(options: Partial<ServedOptions>): void;
  /**
   * Accepts no new connections, and closes when all calls have ended. After `timeoutMs`,
   * calls are aborted with `unavailable`, and half a second later their connections are closed. The
   * maximum is 24 days.
   */
  drain(timeoutMs: number): Promise<void>;
}

const servedKinds = optionKinds<ServedOptions>()({
  function: "routes mcp",
  object: "rest jsonOptions",
});

const kinds: OptionKindsOf<ServeOptions> = {
  ...gatewayOptionKinds,
  ...optionKinds<Omit<ServeOptions, keyof GatewayOptions>>()({
    string: "host path",
    "number from 0": "port",
    "whole number from 1 to 2^31 - 1": "socketMode",
    function: "handlers onTlsError",
    object: "limits tls traffic",
    boolean: "reusePort",
  }),
};

/** How long aborted calls have to answer. */
const abortedCallsMs = 500;

/**
 * Serves Connect services on one port: gRPC, gRPC-Web, Connect and REST, over HTTP/1.1 and HTTP/2,
 * in plaintext or over TLS.
 * @throws {RuleError} for a REST option that cannot be served.
 * @throws {TlsFilesError} for TLS files that cannot be used.
 * @throws {TypeError} for an option, a limit or an address of `connectionsExempt` that is invalid.
 * @throws {Error} in Bun, whose `node:http` does not hand over its connections.
 * @throws the system's error if it cannot listen.
 */
export async function serve(options: ServeOptions): Promise<Server> {
  assertOptions("serve", options, kinds, ["routes"]);
  const { path, port: ofHost, host, socketMode } = options;
  const [place, foreign] = path === undefined ? [ofHost, socketMode] : [path, ofHost ?? host];
  if (place === undefined || foreign !== undefined) {
    throw new TypeError("serve: give a port and its host, or a path and its socketMode");
  }
  const limits = resolveLimits(options.limits ?? {});
  const draining = new AbortController();
  const shutdown = new AbortController();
  const { signal } = shutdown;
  const lifetime: ServerLifetime = { draining: draining.signal };
  const { readMaxBytes = 4 * 1024 * 1024, shutdownSignal: other } = options;
  const onError = createErrorListener(options);
  const gateway = createNodeGateway(
    {
      ...options,
      ...{ onError, readMaxBytes },
      routes: (router) => options.routes(router, lifetime),
      shutdownSignal: other === undefined ? signal : AbortSignal.any([signal, other]),
    },
    options.handlers?.(lifetime),
  );
  const port = await openPort({
    ...options,
    limits,
    handler: gateway.handler,
    responseFor: gateway.responseFor,
    onTlsError: createErrorListener({ onError: options.onTlsError ?? onError }),
    onError,
  });

  async function drain(timeoutMs: number): Promise<void> {
    assertOptions("drain", { timeoutMs }, { timeoutMs: "number from 0" }, ["timeoutMs"]);
    const callsMs = Math.min(timeoutMs, timerMaxMs - abortedCallsMs);
    // Before the error: the first one of a process takes 20 ms, in which the port would stay open.
    const closed = port.drain(callsMs + abortedCallsMs);
    const reason = new ConnectError("the server is shutting down", Code.Unavailable);
    draining.abort(reason);
    const cutOff = setTimeout(() => shutdown.abort(reason), callsMs);
    await closed;
    clearTimeout(cutOff);
  }

  return {
    address: port.address,
    update(served) {
      assertOptions("update", served, servedKinds);
      const { routes = options.routes } = served;
      gateway.update({ ...served, routes: (router) => routes(router, lifetime) });
    },
    drain,
  };
}
