/** A message that is still being compressed when its call ends. */
import { once } from "node:events";
import http from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { gatewayNodeAdapter } from "../../src/index.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { within } from "../support/within.ts";

type Bytes = Uint8Array<ArrayBuffer>;

test("is not written after the end of the answer", async () => {
  const late = Promise.withResolvers<Bytes>();
  const ended = Promise.withResolvers<void>();
  let socket: Socket | undefined;
  const compression = {
    name: "gzip",
    decompress: async (bytes: Uint8Array) => bytes as Bytes,
    // The trailers are longer than a message.
    compress: async (bytes: Uint8Array) => {
      if (bytes.length > 10) return bytes as Bytes;
      return (socket?.writableLength ?? 0) > 0 ? await late.promise : new Uint8Array(15_000);
    },
  };
  const handler = gatewayNodeAdapter({
    acceptCompression: [compression],
    compressMinBytes: 0,
    routes: (router) =>
      router.service(CatalogService, {
        async *watchVolumes() {
          for (;;) {
            await turn();
            yield { name: "a" };
          }
        },
      }),
  });
  const server = http.createServer((request, response) => {
    const end = response.end.bind(response);
    response.end = (...args: unknown[]) => {
      ended.resolve();
      return Reflect.apply(end, response, args);
    };
    void handler(request, response);
  });
  server.on("connection", (accepted) => {
    socket = accepted;
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.pause();
  client.write(
    "POST /library.v1.CatalogService/WatchVolumes HTTP/1.1\r\nhost: x\r\n" +
      "content-type: application/grpc-web+proto\r\ngrpc-accept-encoding: gzip\r\n" +
      "grpc-timeout: 1500m\r\ncontent-length: 5\r\nconnection: close\r\n\r\n\0\0\0\0\0",
  );
  await within("the end of the answer", ended.promise);
  late.resolve(new Uint8Array(10));
  await turn();
  const chunks: Buffer[] = [];
  client.on("data", (chunk: Buffer) => chunks.push(chunk)).resume();
  await within("the whole answer", once(client, "close"));
  expect(Buffer.concat(chunks).toString("latin1")).toContain("grpc-status: 4");
  server.close();
});
