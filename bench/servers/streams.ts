/** Messages of 1 KiB without end, by one of three servers: `streams.ts connect-gateway|connect-node|grpc-js`. */
import http2 from "node:http2";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Server, ServerCredentials, type ServerWritableStream } from "@grpc/grpc-js";
import { serve } from "connect-gateway/server";
import { message, serialize, streamPath, watch } from "../stream.ts";
import { announce, announceUrl } from "./announce.ts";

async function* watchAll() {
  for (;;) yield message;
}

const routes = (router: ConnectRouter) => void router.rpc(watch as never, watchAll as never);

function serveGrpcJs(): void {
  const server = new Server();
  const method = {
    path: streamPath,
    requestStream: false,
    responseStream: true,
    requestSerialize: () => Buffer.alloc(0),
    requestDeserialize: () => ({}),
    responseSerialize: serialize,
    responseDeserialize: () => message,
  };
  server.addService(
    { watch: method },
    {
      async watch(call: ServerWritableStream<object, typeof message>) {
        while (!call.cancelled) {
          if (!call.write(message)) await new Promise((resolve) => call.once("drain", resolve));
        }
      },
    },
  );
  server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
    if (error !== null) throw error;
    announceUrl(`http://127.0.0.1:${port}`);
  });
}

switch (process.argv[2]) {
  case "connect-gateway": {
    const { address } = await serve({ host: "127.0.0.1", port: 0, routes });
    announceUrl(`http://127.0.0.1:${address.port}`);
    break;
  }
  case "connect-node":
    announce(http2.createServer(connectNodeAdapter({ routes })));
    break;
  case "grpc-js":
    serveGrpcJs();
    break;
  default:
    throw new Error("name one of connect-gateway, connect-node, grpc-js");
}
