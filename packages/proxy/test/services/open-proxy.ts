import { createServer, type ServerHttp2Session } from "node:http2";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { type GrpcTransport, openGrpcTransport } from "connect-gateway/client";
import { file_library_v1_card } from "../../../gateway/test/gen/library/v1/card_pb.ts";
import { file_library_v1_catalog } from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import { file_library_v1_fields } from "../../../gateway/test/gen/library/v1/fields_pb.ts";
import { descriptorSetOf } from "../../../gateway/test/support/descriptor-set.ts";
import { listen } from "../../../gateway/test/support/free-port.ts";
import {
  openGateway,
  type TestGateway,
  type TestGatewayOptions,
} from "../../../gateway/test/support/gateway.ts";
import { type ProxyOptions, proxyServices, readDescriptors } from "../../src/services/index.ts";

export { failureOf } from "../../../gateway/test/client/fake-server.ts";

/** A gRPC server that knows nothing of REST. */
export interface Upstream extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** In the order in which they were opened. */
  readonly sessions: readonly ServerHttp2Session[];
}

/** That of connect-node, which shares no code with the proxy. */
export async function openUpstream(
  routes: (router: ConnectRouter) => void,
  { port = 0 }: { readonly port?: number } = {},
): Promise<Upstream> {
  const sessions: ServerHttp2Session[] = [];
  const server = createServer(connectNodeAdapter({ routes, connect: false, grpcWeb: false }));
  server.on("session", (session) => sessions.push(session));
  const { [Symbol.asyncDispose]: close, ...place } = await listen(server, port);
  return {
    ...{ ...place, sessions },
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      await close();
    },
  };
}

/** All that the tests' protos have, as a proxy knows it: by a descriptor set. */
export const descriptors = readDescriptors(
  descriptorSetOf(file_library_v1_catalog, file_library_v1_fields, file_library_v1_card),
);

/** A gateway in front of an upstream. */
export type TestProxy = TestGateway & { readonly transport: GrpcTransport };

export interface TestProxyOptions extends Partial<TestGatewayOptions> {
  readonly url: string;
  readonly proxy?: Partial<ProxyOptions>;
}

export async function openProxy({ url, proxy, ...options }: TestProxyOptions): Promise<TestProxy> {
  const transport = openGrpcTransport({ url });
  const gateway = await openGateway({
    routes: proxyServices({ ...descriptors, transport, ...proxy }),
    jsonOptions: { registry: descriptors.registry },
    ...options,
  });
  return {
    ...gateway,
    transport,
    async [Symbol.asyncDispose]() {
      transport.close();
      await gateway[Symbol.asyncDispose]();
    },
  };
}

/** A gateway in front of an upstream of its own. */
export async function openProxyOf(
  routes: (router: ConnectRouter) => void,
  options: Omit<TestProxyOptions, "url"> = {},
): Promise<TestProxy & { readonly upstream: Upstream }> {
  const upstream = await openUpstream(routes);
  const proxy = await openProxy({ url: upstream.url, ...options });
  return {
    ...{ ...proxy, upstream },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}
