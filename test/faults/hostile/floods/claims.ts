/** Connections that announce how much will come, and send nothing of it. */
import { createPlantPath } from "../../../support/protocol/message.ts";
import { knownToken } from "../../../support/test-server.ts";
import { type Connection, openConnection } from "../connection.ts";
import { blockOf, data, greet, headers, http1 } from "../wire.ts";
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
