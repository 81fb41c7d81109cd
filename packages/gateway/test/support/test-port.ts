import type { GatewayHandler, NodeHandler } from "../../src/index.ts";
import { defaultLimits } from "../../src/server/limits.ts";
import { openPort, type Port, type PortOptions } from "../../src/server/port.ts";

export interface TestPortOptions extends Partial<Omit<PortOptions, "handler">> {
  /** Default: leaves every request without an answer. */
  readonly serve?: NodeHandler;
  /** Default: leaves every stream to `serve`. */
  readonly serveStream?: GatewayHandler["serveStream"];
}

/** The one port, behind which a test serves by itself; with default limits, in clear. */
export function openTestPort({
  serve = () => {},
  serveStream = () => false,
  ...given
}: TestPortOptions): Promise<Port> {
  return openPort({
    host: "127.0.0.1",
    port: 0,
    limits: defaultLimits,
    tls: undefined,
    handler: Object.assign((...node: Parameters<NodeHandler>) => serve(...node), { serveStream }),
    onTlsError: () => {},
    ...given,
  });
}
