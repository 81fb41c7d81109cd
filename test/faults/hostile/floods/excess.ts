/** Clients that announce more than they send, or send more than anyone reads. */
import { envelope } from "../../../../packages/gateway/test/support/envelope.ts";
import { createPlantPath } from "../../../support/protocol/message.ts";
import { knownToken } from "../../../support/test-server.ts";
import { openSender } from "../../load/sender.ts";
import { type Connection, openConnection } from "../connection.ts";
import { blockOf, data, greet, headers, http1, strangerToken } from "../wire.ts";
import { type Flood, patienceMs } from "./flood.ts";

const connections = 1000;
/** How many are opened at a time: a kernel drops connections that arrive all at once. */
const atOnce = 100;

const length = `Content-Length: ${2 ** 32 - 1}\r\n\r\n`;
const envelopeHead = Buffer.of(0, 0xff, 0xff, 0xff, 0xff);
const grpc = { ":path": createPlantPath, "content-type": "application/grpc" };

function claim(path: string, type: string, rest: string): Buffer {
  return http1(`POST ${path}`, knownToken, `Content-Type: application/${type}\r\n${rest}`);
}

/** One incomplete chunk: the head of the envelope is there. */
const chunk = `Transfer-Encoding: chunked\r\n\r\nffff\r\n${envelopeHead.toString("latin1")}`;

const claims: readonly Buffer[] = [
  claim("/plants", "json", length),
  claim(createPlantPath, "json", length),
  claim(createPlantPath, "grpc-web", chunk),
  greet(headers(1, blockOf(grpc)), data(1, envelopeHead)),
];

/** Connections that announce how much will come, and send nothing of it. */
export const fourGiBClaims: Flood = {
  name: "claims of 4 GiB",
  async run({ port }) {
    let unanswered = 0;
    const open: Connection[] = [];
    // An answer, after HTTP/2's greeting.
    const isAnswer = (received: Buffer) =>
      received.includes("HTTP/1.1 ") || received.includes("grpc-status") || received.length > 60;
    for (let number = 0; number < connections; number++) {
      const connection = openConnection(port);
      connection.socket.write(claims[number % claims.length] ?? "");
      open.push(connection);
      if (open.length % atOnce !== 0) continue;
      // All the others are still open.
      await Promise.all(
        open.slice(-atOnce).map(async (one) => {
          if (!(await one.until(isAnswer, patienceMs)) && !one.isEnded) unanswered++;
        }),
      );
    }
    for (const { socket } of open) socket.destroy();
    const found = unanswered === 0 ? [] : [`claims of 4 GiB: ${unanswered} had no answer`];
    return { count: connections, found };
  },
};

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
