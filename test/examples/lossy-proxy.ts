import type { Socket } from "node:net";
import {
  type Frame,
  frame,
  framesIn,
  frameType,
  preface,
} from "../../packages/gateway/test/support/frames.ts";
import { openRelay } from "../../packages/gateway/test/support/relay.ts";

/**
 * What becomes of an answer: it goes on; it is held until the client gives up;
 * or the connection is cut in its place. In each case the server has given it.
 */
type Fate = "pass" | "hold" | "cut";

/**
 * A way to a server on which answers are lost; requests are not.
 *
 * @param fates Of the first answers, in their order, over all connections. Later ones pass.
 */
export async function openLossyProxy(targetPort: number, fates: readonly Fate[]) {
  const fatesLeft = [...fates];
  const relay = await openRelay(targetPort, (client, target) => {
    for (const socket of [client, target]) {
      socket.on("close", () => {
        client.destroy();
        target.destroy();
      });
    }
    client.once("data", (first: Buffer) => {
      const relay = first.toString("latin1").startsWith("PRI ") ? relayHttp2 : relayHttp1;
      relay({ client, target, first, nextFate: () => fatesLeft.shift() ?? "pass" });
    });
  });
  /** The fates that no answer has met yet. */
  return { ...relay, fatesLeft };
}

/** The first piece is what the client has sent already. */
type Relay = Readonly<{ client: Socket; target: Socket; first: Buffer; nextFate: () => Fate }>;

/** Over HTTP/1.1, to give up is to close the connection: a held answer has nowhere to go. */
function relayHttp1({ client, target, first, nextFate }: Relay): void {
  let isRequest = true;
  let fate: Fate = "pass";
  target.write(first);
  client.on("data", (piece: Buffer) => {
    isRequest = true;
    target.write(piece);
  });
  target.on("data", (piece: Buffer) => {
    if (isRequest) fate = nextFate();
    isRequest = false;
    if (fate === "cut") client.end(piece.subarray(0, -1), () => client.destroy());
    if (fate === "pass") client.write(piece);
  });
}

/**
 * Over HTTP/2, to give up is RST_STREAM, and the connection goes on: what was held
 * follows then, in its order, as header compression has a state.
 */
function relayHttp2({ client, target, first, nextFate }: Relay): void {
  const answered = new Set<number>();
  const cancelled = new Set<number>();
  const held: Buffer[] = [];
  let heldStream: number | undefined;

  function release(stream: number): void {
    cancelled.add(stream);
    if (heldStream !== stream) return;
    heldStream = undefined;
    for (const frame of held.splice(0)) client.write(frame);
  }

  const fromClient = splitFrames(({ type, streamId }) => {
    if (type === frameType.rstStream) release(streamId);
  });
  const fromTarget = splitFrames((one) => {
    const { type, streamId } = one;
    // The second HEADERS of a stream are its trailers.
    if (type === frameType.headers && !answered.has(streamId) && !cancelled.has(streamId)) {
      answered.add(streamId);
      const fate = nextFate();
      if (fate === "cut") client.destroy();
      if (fate === "hold") heldStream = streamId;
    }
    if (heldStream === undefined) client.write(frame(type, one));
    else held.push(frame(type, one));
  });

  let skip = preface.length;
  const onClientData = (piece: Buffer) => {
    target.write(piece);
    fromClient(piece.subarray(skip));
    skip = Math.max(0, skip - piece.length);
  };
  onClientData(first);
  client.on("data", onClientData);
  target.on("data", fromTarget);
}

/** Takes pieces of a stream of frames, and gives the frames. */
function splitFrames(onFrame: (frame: Frame) => void): (piece: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (piece) => {
    rest = Buffer.concat([rest, piece]);
    for (const one of framesIn(rest)) {
      rest = rest.subarray(9 + one.payload.length);
      onFrame(one);
    }
  };
}
