/** HTTP/2 with invalid frames: those of the tests, those of well-known attacks, and mutations. */
import {
  fieldBlock,
  flag,
  frame,
  frameType,
  http2Bytes,
  settingsAck,
} from "../../../../packages/gateway/test/support/frames.ts";
import {
  answered,
  ending,
  request,
  reset as resets,
  right,
} from "../../../support/malformed/http2.ts";
import type { Random } from "../../random.ts";
import type { BytesAttack } from "../attack.ts";
import { mutate } from "../mutate.ts";
import {
  data,
  headers,
  priority,
  reset,
  setting,
  strangerBlock,
  uint32,
  windowUpdate,
} from "../wire.ts";

const padded = 8;
const withPriority = 0x20;
const pushType = 5;
const onItself = Buffer.of(0, 0, 0, 1, 0);
const maxWindow = 2 ** 31 - 1;

/** A whole request without a body. */
const ended = (payload = strangerBlock) => headers(1, payload, flag.endHeaders | flag.endStream);
const hpack = (...bytes: readonly number[]) => [headers(1, Buffer.from(bytes))];
const settings = (id: number, value: number) => [
  frame(frameType.settings, { payload: setting(id, value) }),
];

const rows: Readonly<Record<string, readonly Buffer[]>> = {
  "data behind the end": [ended(), data(1, "x")],
  "headers behind the end": [ended(), ended()],
  "trailers without an end": [headers(), data(1, "{"), headers()],
  "trailers with a pseudo header": [headers(), data(1, "{"), ended()],
  "a window update of 0 on a stream": [headers(), windowUpdate(1, 0)],
  "a window over 2^31 on a stream": [headers(), windowUpdate(1, maxWindow)],
  "a window over 2^31": [windowUpdate(0, maxWindow)],
  "a window update of three bytes": [frame(frameType.windowUpdate, { payload: Buffer.alloc(3) })],
  "a priority of four bytes": [headers(), priority(1, Buffer.alloc(4))],
  "a stream that depends on itself": [priority(1, onItself)],
  "headers that depend on themselves": [
    headers(1, Buffer.concat([onItself, strangerBlock]), flag.endHeaders | withPriority),
  ],
  "padding over the frame": [headers(1, Buffer.of(200, 0), flag.endHeaders | padded)],
  "data with padding over the frame": [headers(), data(1, "\xff{", padded)],
  "data on stream 0": [data(0, "x")],
  "a reset of stream 0": [reset(0)],
  "a reset of three bytes": [headers(), reset(1, Buffer.alloc(3))],
  "a reset of a stream that never was": [reset(7)],
  "a push": [frame(pushType, { flags: flag.endHeaders, streamId: 1, payload: Buffer.alloc(8) })],
  "settings on a stream": [frame(frameType.settings, { streamId: 1 })],
  "an acknowledgement with settings": [
    frame(frameType.settings, { flags: flag.ack, payload: Buffer.alloc(6) }),
  ],
  "an acknowledgement of nothing": [settingsAck],
  "settings of push 2": settings(2, 2),
  "settings of a window over 2^31": settings(4, 2 ** 32 - 1),
  "settings of frames of 1 byte": settings(5, 1),
  "settings of frames over 2^24": settings(5, 2 ** 24),
  "settings of a table of 4 GiB": settings(1, 2 ** 32 - 1),
  "a ping on a stream": [frame(frameType.ping, { streamId: 1, payload: Buffer.alloc(8) })],
  "a goaway of four bytes": [frame(frameType.goaway, { payload: uint32(0) })],
  "a continuation amid data": [headers(), frame(frameType.continuation, { streamId: 1 })],
  "data amid headers": [headers(1, strangerBlock, 0), data(1, "x")],
  "headers of another stream amid headers": [headers(1, strangerBlock, 0), headers(3)],
  "a stream below the last": [headers(5), headers(3)],
  "the last stream there is": [headers(2 ** 31 - 1)],
  "a frame of a type that nobody knows": [frame(0xbb, { flags: 0xff, payload: Buffer.alloc(99) })],
  "an index of HPACK that is 0": hpack(0x80),
  "an index of HPACK that is not there": hpack(0xff, 0x80, 0x01),
  "an integer of HPACK without an end": [headers(1, Buffer.alloc(40, 0xff))],
  "a text of HPACK over the block": hpack(0x00, 0x7f, 0xff, 0x7f, 0x61),
  "Huffman with an end of text inside": hpack(0x00, 0x84, 0xff, 0xff, 0xff, 0xff, 0x01, 0x61),
  "Huffman with wrong padding": hpack(0x00, 0x81, 0x00, 0x01, 0x61),
  "a table of HPACK over the limit": hpack(0x3f, 0xff, 0xff, 0x03),
  "a table that changes behind a field": hpack(...strangerBlock, 0x20),
};

/** What no server accepts, even from a client with a valid token. */
const refused: readonly (readonly [what: string, bytes: Buffer])[] = [
  ...[...answered, ...resets].map(([what, block]) => [what, http2Bytes(request(block))] as const),
  ...ending
    .filter(([, bytes]) => !bytes.includes(fieldBlock(right)))
    .map(([what, bytes]) => [what, http2Bytes(bytes)] as const),
  ...Object.entries(rows).map(([what, frames]) => [what, http2Bytes(...frames)] as const),
];

/** Without a valid token, because a mutation may repair them. */
const seeds: readonly Buffer[] = [
  http2Bytes(headers(), data(1, '{"id":1,"name":"Basil"}', flag.endStream)),
  ...Object.values(rows).map((frames) => http2Bytes(...frames)),
];

export function breakFrames(random: Random): BytesAttack {
  if (random.chance(0.15)) {
    const [what, bytes] = random.pick(refused);
    const payload = Buffer.from(Array.from({ length: 8 }, () => random.int(0, 255)));
    const ping = frame(frameType.ping, { payload });
    return { what: `HTTP/2: ${what}`, version: "2", bytes: Buffer.concat([bytes, ping]) };
  }
  return { what: "HTTP/2, mutated", version: "2", bytes: mutate(random.pick(seeds), random) };
}
