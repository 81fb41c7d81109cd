import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import {
  type FetchGatewayOptions,
  type GatewayOptions,
  gatewayFetchHandler,
  gatewayNodeAdapter,
  type NodeHandler,
} from "../../src/index.ts";
import { exchange, type HttpRequest, type HttpResponse, type HttpVersion } from "./exchange.ts";
import { listenerOf } from "./fetch-listener.ts";

/** A gateway that listens on HTTP/1.1 and HTTP/2. */
export interface TestGateway extends AsyncDisposable {
  readonly port: number;
  /** One request and its response. Default: HTTP/1.1. */
  send(request: SentRequest): Promise<HttpResponse>;
  /** Its origin for the HTTP version. */
  origin(version: HttpVersion): string;
  /** What the gateway has passed to `onError` so far. */
  readonly errors: readonly unknown[];
}

export type SentRequest = Omit<HttpRequest, "origin" | "version"> & {
  readonly version?: HttpVersion;
};

export interface TestGatewayOptions extends Omit<GatewayOptions, "onError"> {
  /** Whether the gateway may call `onError`. Default: no, the test fails. */
  readonly mayFail?: boolean;
  /** Default: 127.0.0.1. Requests go there. */
  readonly host?: string;
}

/** Set where tests of Node's adapter run again, by fetch: `by-fetch` in vitest.config.ts. */
export const isByFetch = process.env["GATEWAY_BY"] === "fetch";

/** The address is given by the listener. Tests that need Node's request or response are left out. */
function byFetch(options: GatewayOptions): FetchGatewayOptions<[address?: string]> {
  return {
    ...(options as object as FetchGatewayOptions),
    peerAddress: (_request, address) => address,
  };
}

export function openGateway({
  mayFail = false,
  host,
  ...options
}: TestGatewayOptions): Promise<TestGateway> {
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const handler = isByFetch
    ? listenerOf(gatewayFetchHandler(byFetch({ ...options, onError })))
    : gatewayNodeAdapter({ ...options, onError });
  return openHandler(handler, { errors, mayFail, host });
}

/** Any handler, listening on both HTTP versions. */
export async function openHandler(
  handler: NodeHandler,
  {
    errors = [],
    mayFail = false,
    host = "127.0.0.1",
  }: { errors?: readonly unknown[]; mayFail?: boolean; host?: string | undefined } = {},
): Promise<TestGateway> {
  const sessions = new Set<http2.ServerHttp2Session>();
  const servers = { "1.1": http.createServer(handler), "2": http2.createServer(handler) };
  servers["2"].on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  for (const server of Object.values(servers)) {
    server.listen(0, host);
    await once(server, "listening");
  }
  const portOf = (version: HttpVersion) => (servers[version].address() as AddressInfo).port;
  const origin = (version: HttpVersion) => `http://127.0.0.1:${portOf(version)}`;

  return {
    port: portOf("1.1"),
    origin,
    errors,
    send: ({ version = "1.1", ...request }) =>
      exchange({ origin: origin(version), version, ...request }),
    async [Symbol.asyncDispose]() {
      const closed = Object.values(servers).map((server) => once(server, "close"));
      for (const server of Object.values(servers)) server.close();
      servers["1.1"].closeAllConnections();
      for (const session of sessions) session.destroy();
      await Promise.all(closed);
      const [first] = errors;
      if (errors.length > 0 && !mayFail) {
        throw new Error("the gateway reported an error", { cause: first });
      }
    },
  };
}

/** The JSON of a body. */
export function jsonOf({ body }: Pick<HttpResponse, "body">): unknown {
  return JSON.parse(body.toString());
}
