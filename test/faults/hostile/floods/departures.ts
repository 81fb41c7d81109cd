/** Clients that send more than anyone reads, and leave. */
import { once } from "node:events";
import http2 from "node:http2";
import { envelope } from "../../../../packages/gateway/test/support/envelope.ts";
import { createPlantPath } from "../../../support/protocol/message.ts";
import { strangerToken } from "../corpus/tokens.ts";
import { type Flood, patienceMs } from "./flood.ts";

/** Of each kind. */
const clients = 10;

/** Over every limit, and more than a stream and its reader can buffer. */
const message = envelope(Buffer.alloc(1024 * 1024));

const calls: readonly (readonly [path: string, contentType: string])[] = [
  [createPlantPath, "application/grpc"],
  ["/plants", "application/json"],
  ["/grpc.health.v1.Health/Check", "application/grpc"],
  ["/grpc.health.v1.Health/Watch", "application/grpc"],
  ["/grpc.health.v1.Health/Watch", "application/grpc-web"],
  ["/grpc.health.v1.Health/Watch", "application/connect+proto"],
  ["/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "application/grpc"],
];

export const departures: Flood = {
  name: "clients that leave",
  async run({ url }) {
    const found: string[] = [];
    for (const [path, contentType] of calls) {
      for (let client = 0; client < clients; client++) {
        const isOver = await callAndLeave(url, path, contentType);
        if (!isOver) found.push(`clients that leave: a call of ${path} had no end`);
      }
    }
    return { count: calls.length * clients, found };
  },
};

/** @returns whether the server has ended the call. */
async function callAndLeave(url: string, path: string, contentType: string): Promise<boolean> {
  const session = http2.connect(url);
  session.on("error", () => {});
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": contentType,
    authorization: `Bearer ${strangerToken}`,
    te: "trailers",
  });
  stream.on("error", () => {});
  stream.resume();
  stream.end(message);
  try {
    await once(stream, "close", { signal: AbortSignal.timeout(patienceMs) });
    return true;
  } catch {
    return false;
  } finally {
    session.destroy();
  }
}
