/** Clients that send more than anyone reads. */
import { envelope } from "../../../../packages/gateway/test/support/envelope.ts";
import { createPlantPath } from "../../../support/protocol/message.ts";
import { openSender } from "../../load/sender.ts";
import { strangerToken } from "../wire.ts";
import { type Flood, patienceMs } from "./flood.ts";

/** Of each kind. */
const clients = 10;

/** Over every limit, and more than a stream and its reader can buffer. */
const body = envelope(Buffer.alloc(1024 * 1024));

const calls: readonly (readonly [path: string, contentType: string])[] = [
  [createPlantPath, "application/grpc"],
  ["/plants", "application/json"],
  ["/grpc.health.v1.Health/Check", "application/grpc"],
  ["/grpc.health.v1.Health/Watch", "application/grpc"],
  ["/grpc.health.v1.Health/Watch", "application/grpc-web"],
  ["/grpc.health.v1.Health/Watch", "application/connect+proto"],
  ["/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "application/grpc"],
];

/** Clients that leave when they have sent it. */
export const departures: Flood = {
  name: "clients that leave",
  async run({ url }) {
    const found: string[] = [];
    for (const [path, contentType] of calls) {
      const authorization = `Bearer ${strangerToken}`;
      const headers = { "content-type": contentType, authorization, te: "trailers" };
      for (let client = 0; client < clients; client++) {
        using sender = openSender("2", url);
        const signal = AbortSignal.timeout(patienceMs);
        // The server may answer or cut it, but must end it.
        await sender.send({ path, headers, body, signal }).catch(() => {});
        if (signal.aborted) found.push(`clients that leave: a call of ${path} had no end`);
      }
    }
    return { count: calls.length * clients, found };
  },
};
