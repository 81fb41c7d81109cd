/** Connections that announce how much will come, and send nothing of it. */

import {
  fieldBlock,
  flag,
  frame,
  frameType,
  greeting,
  settingsAck,
} from "../../../../packages/gateway/test/support/raw-http2.ts";
import { fields } from "../../../support/malformed/http2.ts";
import { createPlantPath } from "../../../support/protocol/message.ts";
import { knownToken } from "../../../support/test-server.ts";
import { openConnection } from "../connection.ts";
import { type Flood, patienceMs } from "./flood.ts";

const connections = 1000;

/** How many are opened at a time: a kernel drops connections that arrive all at once. */
const atOnce = 100;

const fourGiB = 2 ** 32 - 1;
const envelopeHead = Buffer.of(0, 0xff, 0xff, 0xff, 0xff);

function http1(path: string, lines: string, body: Buffer = Buffer.alloc(0)): Buffer {
  const head =
    `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${knownToken}\r\n` + `${lines}\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

/** A body of one incomplete chunk: the head of the envelope is there. */
const chunkBegun = Buffer.concat([Buffer.from("ffff\r\n"), envelopeHead]);

const claims: readonly Buffer[] = [
  http1("/plants", `Content-Type: application/json\r\nContent-Length: ${fourGiB}\r\n`),
  http1(createPlantPath, `Content-Type: application/json\r\nContent-Length: ${fourGiB}\r\n`),
  http1(
    createPlantPath,
    "Content-Type: application/grpc-web\r\nTransfer-Encoding: chunked\r\n",
    chunkBegun,
  ),
  Buffer.concat([
    greeting,
    settingsAck,
    frame(frameType.headers, {
      flags: flag.endHeaders,
      streamId: 1,
      payload: fieldBlock(fields({ ":path": createPlantPath, "content-type": "application/grpc" })),
    }),
    frame(frameType.data, { streamId: 1, payload: envelopeHead }),
  ]),
];

export const fourGiBClaims: Flood = {
  name: "claims of 4 GiB",
  async run({ port }) {
    let unanswered = 0;
    const open = [];
    for (let number = 0; number < connections; number++) {
      const connection = openConnection(port);
      connection.socket.write(claims[number % claims.length] ?? "");
      open.push(connection);
      if (open.length % atOnce === 0) await Promise.all(open.slice(-atOnce).map(answered));
    }

    /** While all the others are still open: an answer, after HTTP/2's greeting. */
    async function answered(connection: ReturnType<typeof openConnection>) {
      const isAnswer = (received: Buffer) =>
        received.includes("HTTP/1.1 ") || received.includes("grpc-status") || received.length > 60;
      if (!(await connection.until(isAnswer, patienceMs)) && !connection.isEnded) unanswered++;
    }
    for (const { socket } of open) socket.destroy();
    const found = unanswered === 0 ? [] : [`claims of 4 GiB: ${unanswered} had no answer`];
    return { count: connections, found };
  },
};
