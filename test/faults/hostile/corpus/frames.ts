/** HTTP/2 with invalid frames: those of the tests, those of well-known attacks, and mutations. */

import {
  fieldBlock,
  flag,
  frame,
  frameType,
  greeting,
  settingsAck,
} from "../../../../packages/gateway/test/support/raw-http2.ts";
import {
  answered,
  ending,
  fields,
  request,
  reset,
  right,
} from "../../../support/malformed/http2.ts";
import type { Random } from "../../random.ts";
import type { BytesAttack } from "../attack.ts";
import { mutate } from "../mutate.ts";

/** The bytes of a connection: the greeting, then these frames. */
export function greet(...frames: readonly Buffer[]): Buffer {
  return Buffer.concat([greeting, settingsAck, ...frames]);
}

const stranger = fields({ authorization: "Bearer a-token-that-nobody-knows" });

function headers(given: { flags?: number; streamId?: number; payload?: Buffer } = {}): Buffer {
  const { flags = flag.endHeaders, streamId = 1, payload = fieldBlock(stranger) } = given;
  return frame(frameType.headers, { flags, streamId, payload });
}

function data(text: string, flags = 0, streamId = 1): Buffer {
  return frame(frameType.data, { flags, streamId, payload: Buffer.from(text, "latin1") });
}

const padded = 8;
const withPriority = 0x20;
const priorityType = 2;
const pushType = 5;

const rows: Readonly<Record<string, Buffer>> = {
  "data behind the end": Buffer.concat([headers({ flags: 5 }), data("x")]),
  "headers behind the end": Buffer.concat([headers({ flags: 5 }), headers({ flags: 5 })]),
  "trailers without an end": Buffer.concat([headers(), data("{"), headers()]),
  "trailers with a pseudo header": Buffer.concat([headers(), data("{"), headers({ flags: 5 })]),
  "a window update of 0 on a stream": Buffer.concat([
    headers(),
    frame(frameType.windowUpdate, { streamId: 1, payload: Buffer.alloc(4) }),
  ]),
  "a window over 2^31 on a stream": Buffer.concat([
    headers(),
    frame(frameType.windowUpdate, { streamId: 1, payload: Buffer.of(0x7f, 255, 255, 255) }),
  ]),
  "a window over 2^31": frame(frameType.windowUpdate, { payload: Buffer.of(0x7f, 255, 255, 255) }),
  "a window update of three bytes": frame(frameType.windowUpdate, { payload: Buffer.alloc(3) }),
  "a priority of four bytes": Buffer.concat([
    headers(),
    frame(priorityType, { streamId: 1, payload: Buffer.alloc(4) }),
  ]),
  "a stream that depends on itself": frame(priorityType, {
    streamId: 1,
    payload: Buffer.of(0, 0, 0, 1, 0),
  }),
  "headers that depend on themselves": headers({
    flags: flag.endHeaders | withPriority,
    payload: Buffer.concat([Buffer.of(0, 0, 0, 1, 0), fieldBlock(stranger)]),
  }),
  "padding over the frame": headers({
    flags: flag.endHeaders | padded,
    payload: Buffer.of(200, 0),
  }),
  "data with padding over the frame": Buffer.concat([headers(), data("\xff{", padded)]),
  "data on stream 0": data("x", 0, 0),
  "a reset of stream 0": frame(frameType.rstStream, { payload: Buffer.alloc(4) }),
  "a reset of three bytes": Buffer.concat([
    headers(),
    frame(frameType.rstStream, { streamId: 1, payload: Buffer.alloc(3) }),
  ]),
  "a reset of a stream that never was": frame(frameType.rstStream, {
    streamId: 7,
    payload: Buffer.alloc(4),
  }),
  "a push": frame(pushType, { flags: flag.endHeaders, streamId: 1, payload: Buffer.alloc(8) }),
  "settings on a stream": frame(frameType.settings, { streamId: 1 }),
  "an acknowledgement with settings": frame(frameType.settings, {
    flags: flag.ack,
    payload: Buffer.alloc(6),
  }),
  "an acknowledgement of nothing": settingsAck,
  "settings of push 2": setting(2, 2),
  "settings of a window over 2^31": setting(4, 2 ** 32 - 1),
  "settings of frames of 1 byte": setting(5, 1),
  "settings of frames over 2^24": setting(5, 2 ** 24),
  "settings of a table of 4 GiB": setting(1, 2 ** 32 - 1),
  "a ping on a stream": frame(frameType.ping, { streamId: 1, payload: Buffer.alloc(8) }),
  "a goaway of four bytes": frame(frameType.goaway, { payload: Buffer.alloc(4) }),
  "a continuation amid data": Buffer.concat([
    headers(),
    frame(frameType.continuation, { streamId: 1 }),
  ]),
  "data amid headers": Buffer.concat([headers({ flags: 0 }), data("x")]),
  "headers of another stream amid headers": Buffer.concat([
    headers({ flags: 0 }),
    headers({ streamId: 3 }),
  ]),
  "a stream below the last": Buffer.concat([headers({ streamId: 5 }), headers({ streamId: 3 })]),
  "the last stream there is": headers({ streamId: 2 ** 31 - 1 }),
  "a frame of a type that nobody knows": frame(0xbb, { flags: 0xff, payload: Buffer.alloc(99) }),
  "an index of HPACK that is 0": headers({ payload: Buffer.of(0x80) }),
  "an index of HPACK that is not there": headers({ payload: Buffer.of(0xff, 0x80, 0x01) }),
  "an integer of HPACK without an end": headers({ payload: Buffer.alloc(40, 0xff) }),
  "a text of HPACK over the block": headers({ payload: Buffer.of(0x00, 0x7f, 0xff, 0x7f, 0x61) }),
  "Huffman with an end of text inside": headers({
    payload: Buffer.of(0x00, 0x84, 0xff, 0xff, 0xff, 0xff, 0x01, 0x61),
  }),
  "Huffman with wrong padding": headers({ payload: Buffer.of(0x00, 0x81, 0x00, 0x01, 0x61) }),
  "a table of HPACK over the limit": headers({ payload: Buffer.of(0x3f, 0xff, 0xff, 0x03) }),
  "a table that changes behind a field": headers({
    payload: Buffer.concat([fieldBlock(stranger), Buffer.of(0x20)]),
  }),
};

function setting(id: number, value: number): Buffer {
  const payload = Buffer.alloc(6);
  payload.writeUInt16BE(id, 0);
  payload.writeUInt32BE(value, 2);
  return frame(frameType.settings, { payload });
}

/** What no server accepts, even from a client with a valid token. */
const refused: readonly (readonly [what: string, bytes: Buffer])[] = [
  ...answered.map(([what, block]) => [what, greet(request(block))] as const),
  ...reset.map(([what, block]) => [what, greet(request(block))] as const),
  ...ending
    .filter(([, bytes]) => !bytes.includes(fieldBlock(right)))
    .map(([what, bytes]) => [what, greet(bytes)] as const),
  ...Object.entries(rows).map(([what, bytes]) => [what, greet(bytes)] as const),
];

/** Without a valid token, because a mutation may repair them. */
const seeds: readonly Buffer[] = [
  greet(request(stranger)),
  ...Object.values(rows).map((one) => greet(one)),
];

export function breakFrames(random: Random): BytesAttack {
  if (random.chance(0.15)) {
    const [what, bytes] = random.pick(refused);
    const ping = frame(frameType.ping, { payload: randomBytes(8, random) });
    return {
      kind: "bytes",
      what: `HTTP/2: ${what}`,
      version: "2",
      bytes: Buffer.concat([bytes, ping]),
    };
  }
  const bytes = mutate(random.pick(seeds), random);
  return { kind: "bytes", what: "HTTP/2, mutated", version: "2", bytes };
}

function randomBytes(length: number, random: Random): Buffer {
  return Buffer.from(Array.from({ length }, () => random.int(0, 255)));
}
