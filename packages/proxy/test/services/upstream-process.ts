/**
 * A gRPC server as a process of its own: `node packages/gateway/test/proxy/upstream-process.ts [PORT]`.
 * It creates what it is asked to, and watches without end.
 */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { create } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { CatalogService, VolumeSchema } from "../../../gateway/test/gen/library/v1/catalog_pb.ts";

/** More than most messages have. */
const longTitle = randomBytes(12 * 1024).toString("base64");

const handler = connectNodeAdapter({
  connect: false,
  grpcWeb: false,
  acceptCompression: [],
  routes(router) {
    router.service(CatalogService, {
      createVolume: ({ parent, volume: { id, title } = create(VolumeSchema) }) => ({
        ...{ id, title },
        name: `${parent}/volumes/${id}`,
      }),
      async *watchVolumes() {
        for (let id = 1n; ; id++) yield { id, title: longTitle };
      },
    });
  },
});
// By default a connection takes no more streams once those it has hold 10 MB.
const options = { maxSessionMemory: 10_000 };
const server = createServer(options, handler).listen(Number(process.argv[2] ?? 0), "127.0.0.1");
server.once("listening", () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`listening on ${port}\n`);
});
