/** Floods of HTTP/2 frames, each on a few connections at once. */

import {
  fieldBlock,
  flag,
  frame,
  frameType,
} from "../../../../packages/gateway/test/support/raw-http2.ts";
import { fields } from "../../../support/malformed/http2.ts";
import { type Flood, pour } from "./flood.ts";

interface FrameFlood {
  readonly name: string;
  readonly count: number;
  /** What to send repeatedly. The index is that of the stream. */
  frames(index: number): readonly Buffer[];
  /** Sent once, before them. */
  readonly first?: readonly Buffer[];
  /** Whether a server must close the connection before the end. */
  readonly mustEnd: boolean;
  readonly isDeaf?: boolean;
}

const connectionsAtOnce = 3;

const block = fieldBlock(fields({ authorization: "Bearer a-token-that-nobody-knows" }));

function streamId(index: number): number {
  return 2 * index + 1;
}

function open(index: number, flags: number = flag.endHeaders): Buffer {
  return frame(frameType.headers, { flags, streamId: streamId(index), payload: block });
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function setting(id: number, value: number): Buffer {
  return Buffer.concat([Buffer.of(0, id), number(value)]);
}

function windowUpdate(index: number, by: number): Buffer {
  return frame(frameType.windowUpdate, { streamId: streamId(index), payload: number(by) });
}

const floods: readonly FrameFlood[] = [
  {
    name: "rapid reset",
    count: 4000,
    frames: (index) => [
      open(index),
      frame(frameType.rstStream, { streamId: streamId(index), payload: number(8) }),
    ],
    mustEnd: true,
  },
  {
    name: "made you reset: a window update of 0",
    count: 4000,
    frames: (index) => [open(index), windowUpdate(index, 0)],
    mustEnd: true,
  },
  {
    name: "made you reset: a window over 2^31",
    count: 4000,
    frames: (index) => [open(index), windowUpdate(index, 2 ** 31 - 1)],
    mustEnd: true,
  },
  {
    name: "made you reset: a priority of four bytes",
    count: 4000,
    frames: (index) => [
      open(index),
      frame(2, { streamId: streamId(index), payload: Buffer.alloc(4) }),
    ],
    mustEnd: true,
  },
  {
    name: "made you reset: data behind the end",
    count: 4000,
    frames: (index) => [
      open(index, flag.endHeaders | flag.endStream),
      frame(frameType.data, { streamId: streamId(index), payload: Buffer.from("x") }),
    ],
    mustEnd: true,
  },
  {
    name: "made you reset: a length that is wrong",
    count: 4000,
    frames: (index) => [
      frame(frameType.headers, {
        flags: flag.endHeaders,
        streamId: streamId(index),
        payload: fieldBlock(fields({ authorization: null, "content-length": "1" })),
      }),
      frame(frameType.data, {
        flags: flag.endStream,
        streamId: streamId(index),
        payload: Buffer.from("xx"),
      }),
    ],
    mustEnd: true,
  },
  {
    name: "streams over the limit",
    count: 4000,
    frames: (index) => [open(index)],
    mustEnd: true,
  },
  {
    name: "continuations of 1 KB",
    count: 4000,
    first: [open(0, 0)],
    frames: () => [frame(frameType.continuation, { streamId: 1, payload: Buffer.alloc(1024, 0) })],
    mustEnd: true,
  },
  {
    name: "continuations of nothing",
    count: 20_000,
    first: [open(0, 0)],
    frames: () => [frame(frameType.continuation, { streamId: 1 })],
    mustEnd: true,
  },
  {
    name: "settings",
    count: 20_000,
    frames: () => [frame(frameType.settings)],
    mustEnd: false,
  },
  {
    name: "settings that nobody takes the answers of",
    count: 20_000,
    frames: () => [frame(frameType.settings)],
    mustEnd: false,
    isDeaf: true,
  },
  {
    name: "settings of 2,700 values",
    count: 500,
    frames: (index) => [
      frame(frameType.settings, {
        payload: Buffer.concat(Array(2700).fill(setting(1, index % 2 === 0 ? 0 : 2 ** 20))),
      }),
    ],
    mustEnd: true,
  },
  {
    name: "pings",
    count: 20_000,
    frames: () => [frame(frameType.ping, { payload: Buffer.alloc(8) })],
    mustEnd: false,
  },
  {
    name: "pings that nobody takes the answers of",
    count: 50_000,
    frames: () => [frame(frameType.ping, { payload: Buffer.alloc(8) })],
    mustEnd: false,
    isDeaf: true,
  },
  {
    name: "data of nothing",
    count: 20_000,
    first: [open(0)],
    frames: () => [frame(frameType.data, { streamId: 1 })],
    mustEnd: false,
  },
  {
    name: "padding and no data",
    count: 2000,
    first: [open(0)],
    frames: () => [frame(frameType.data, { flags: 8, streamId: 1, payload: padding })],
    mustEnd: false,
  },
  {
    name: "priorities",
    count: 20_000,
    frames: (index) => [
      frame(2, {
        streamId: streamId(index),
        payload: Buffer.concat([number(streamId(index + 1)), Buffer.of(255)]),
      }),
    ],
    mustEnd: false,
  },
  {
    name: "window updates of 1",
    count: 20_000,
    frames: () => [frame(frameType.windowUpdate, { payload: number(1) })],
    mustEnd: false,
  },
  {
    name: "frames of a type that nobody knows",
    count: 20_000,
    frames: () => [frame(0xfe, { payload: Buffer.alloc(16) })],
    mustEnd: false,
  },
  {
    name: "HPACK: 4 KB, told 4,000 times in a block",
    count: 200,
    frames: (index) => [
      frame(frameType.headers, {
        flags: flag.endHeaders | flag.endStream,
        streamId: streamId(index),
        payload: Buffer.concat([block, bigEntry, Buffer.alloc(4000, 0xbe)]),
      }),
    ],
    mustEnd: false,
  },
  {
    name: "HPACK: a table that goes to 0 and back",
    count: 1000,
    frames: (index) => [
      frame(frameType.headers, {
        flags: flag.endHeaders | flag.endStream,
        streamId: streamId(index),
        payload: Buffer.concat([
          ...Array(index % 40).fill(Buffer.of(0x20, 0x3f, 0xe1, 0x1f)),
          block,
        ]),
      }),
    ],
    mustEnd: false,
  },
];

const padding = Buffer.alloc(256);
padding[0] = 255;

/** A field that the table stores: 0x40, a name of one byte, a value of 3,900. */
const bigEntry = Buffer.concat([
  Buffer.of(0x40, 1, 0x61, 0x7f, 0xbd, 0x1d),
  Buffer.alloc(3900, 0x61),
]);

export const frameFloods: readonly Flood[] = floods.map(
  ({ name, count, frames, first = [], mustEnd, isDeaf = false }) => ({
    name,
    async run({ port }) {
      function* all() {
        yield* first;
        for (let index = 0; index < count; index++) yield* frames(index);
      }
      const outcomes = await Promise.all(
        Array.from({ length: connectionsAtOnce }, () => pour(port, all(), { isDeaf })),
      );
      const survived = outcomes.filter(({ isEnded }) => !isEnded).length;
      const isFound = mustEnd && survived > 0;
      return {
        count: count * connectionsAtOnce,
        found: isFound ? [`${name}: ${count} on a connection, and the server went on with it`] : [],
      };
    },
  }),
);
