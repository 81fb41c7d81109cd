import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import type { HttpVersion } from "./exchange.ts";

/** One way to call any service, without a token. */
export interface OpenProtocol {
  readonly name: string;
  readonly version: HttpVersion;
  open<T extends DescService>(service: T, url: string): Disposable & { client: Client<T> };
}

function overHttp1(name: string, createTransport: (baseUrl: string) => Transport): OpenProtocol {
  return {
    name: `${name} over HTTP/1.1`,
    version: "1.1",
    open: (service, url) => ({
      client: createClient(service, createTransport(url)),
      [Symbol.dispose]() {},
    }),
  };
}

type Http2Options = { readonly baseUrl: string; readonly sessionManager: Http2SessionManager };

function overHttp2(
  name: string,
  createTransport: (options: Http2Options) => Transport,
): OpenProtocol {
  return {
    name: `${name} over HTTP/2`,
    version: "2",
    open(service, url) {
      const sessionManager = new Http2SessionManager(url);
      return {
        client: createClient(service, createTransport({ baseUrl: url, sessionManager })),
        [Symbol.dispose]: () => sessionManager.abort(),
      };
    },
  };
}

export const grpcProtocol: OpenProtocol = overHttp2("gRPC", createGrpcTransport);

export const openProtocols: readonly OpenProtocol[] = [
  overHttp1("Connect", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" })),
  overHttp2("Connect", (options) => createConnectTransport({ ...options, httpVersion: "2" })),
  overHttp1("gRPC-Web", (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })),
  overHttp2("gRPC-Web", (options) => createGrpcWebTransport({ ...options, httpVersion: "2" })),
  grpcProtocol,
];
