import { createServer, type Socket } from "node:net";
import type { GrpcTransportOptions } from "../../src/client/index.ts";
import {
  type Frame,
  frame,
  framesIn,
  frameType,
  headersFrame,
  preface,
  settingsAck,
} from "../support/frames.ts";
import { listen } from "../support/free-port.ts";
import { openCaller } from "./fake-server.ts";

/** A server of TCP, what it is sent on each connection, and a transport that calls it. */
export async function openTcp(
  accept: (socket: Socket, connection: number) => void,
  {
    scheme = "http",
    ...options
  }: Partial<GrpcTransportOptions> & { readonly scheme?: string } = {},
) {
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    accept(socket, sockets.push(socket));
  });
  const listener = await listen(server);
  const url = `${scheme}://127.0.0.1:${listener.port}`;
  const { transport, catalog } = openCaller({ url, ...options });
  return {
    ...{ url, sockets, catalog },
    async [Symbol.asyncDispose]() {
      transport.close();
      for (const socket of sockets) socket.destroy();
      await listener[Symbol.asyncDispose]();
    },
  };
}

export const grpcFields = [
  [":status", "200"],
  ["content-type", "application/grpc"],
] as const;

/** A whole answer of gRPC, frame by frame. */
export const answerFrames = (
  streamId: number,
  data: readonly Uint8Array[],
  more: readonly (readonly [name: string, value: string])[] = [],
): readonly Buffer[] => [
  headersFrame(streamId, [...grpcFields, ...more]),
  ...data.map((payload) => frame(frameType.data, { streamId, payload })),
  headersFrame(streamId, [["grpc-status", "0"]], true),
];

/** An answer of an error alone. */
export const notFound = (streamId = 1): Buffer =>
  headersFrame(streamId, [...grpcFields, ["grpc-status", "5"]], true);

/** What a server of HTTP/2 sends first. */
export const serverGreeting = Buffer.concat([frame(frameType.settings), settingsAck]);

/** Tells each frame of a client as it comes. */
export function onFrame(socket: Socket, told: (frame: Frame) => void): void {
  let received = Buffer.alloc(0);
  let taken = preface.length;
  socket.on("end", () => socket.end());
  socket.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (const one of framesIn(received.subarray(taken))) {
      taken += 9 + one.payload.length;
      told(one);
    }
  });
}

/** A server that sends its settings, and to each call what a test says. */
export async function openRaw(
  answer: (connection: number, streamId: number) => Buffer,
  options: Partial<GrpcTransportOptions> = {},
) {
  const frames: Frame[] = [];
  const server = await openTcp((socket, connection) => {
    socket.write(serverGreeting);
    onFrame(socket, (one) => {
      frames.push(one);
      if (one.type === frameType.headers) socket.write(answer(connection, one.streamId));
    });
  }, options);
  return { ...server, frames };
}
