import type { Socket } from "node:net";
import { errorResponse, renderStatus } from "../../src/errors/http.ts";
import type { GatewayHandler, NodeHandler } from "../../src/index.ts";
import { defaultLimits } from "../../src/server/limits.ts";
import { openPort, type Port, type PortOptions } from "../../src/server/port.ts";

export interface TestPortOptions extends Partial<Omit<PortOptions, "handler">> {
  /** Default: answers no request. */
  readonly serve?: NodeHandler;
  /** Default: passes every stream to `serve`. */
  readonly serveStream?: GatewayHandler["serveStream"];
}

/** A port served by the test itself, with default limits, in plaintext. It ends with `await using`. */
export async function openTestPort({
  serve = () => {},
  serveStream = () => false,
  ...given
}: TestPortOptions): Promise<Port & AsyncDisposable> {
  const port = await openPort({
    host: "127.0.0.1",
    port: 0,
    limits: defaultLimits,
    tls: undefined,
    handler: Object.assign((...node: Parameters<NodeHandler>) => serve(...node), { serveStream }),
    responseFor: (error) => errorResponse(error, { renderError: renderStatus }),
    ...{ onTlsError: () => {}, onError: () => {} },
    ...given,
  });
  return { ...port, [Symbol.asyncDispose]: () => port.drain(0) };
}

/** Observes a port, and resolves once one of its connections has closed. */
export function watchClose(): Pick<PortOptions, "traffic"> & { readonly closed: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const opened = (socket: Socket) => void socket.once("close", () => resolve());
  return { traffic: { opened, refused: () => {} }, closed: promise };
}
