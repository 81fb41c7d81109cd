/** Floods of HTTP/2 frames, each on a few connections at once. */
import { flag, frame, frameType } from "../../../../packages/gateway/test/support/raw-http2.ts";
import {
  blockOf,
  data,
  headers,
  priority,
  reset,
  setting,
  strangerBlock,
  uint32,
  windowUpdate,
} from "../frames.ts";
import { type Flood, pour } from "./flood.ts";

interface FrameFlood {
  readonly name: string;
  readonly count: number;
  /** What to send repeatedly, each time with the next stream. */
  frames(streamId: number, index: number): readonly Buffer[];
  /** Sent once, before them. */
  readonly first?: Buffer;
  readonly isDeaf?: boolean;
}

const connectionsAtOnce = 3;

const whole = flag.endHeaders | flag.endStream;
const wrongLength = blockOf({ authorization: null, "content-length": "1" });
const settings = frame(frameType.settings);
const ping = frame(frameType.ping, { payload: Buffer.alloc(8) });
const more = (payload = Buffer.alloc(0)) => frame(frameType.continuation, { streamId: 1, payload });
const openBlock = headers(1, strangerBlock, 0);

const padding = Buffer.alloc(256);
padding[0] = 255;

/** A field that the table stores: 0x40, a name of one byte, a value of 3,900. */
const bigEntry = Buffer.concat([
  Buffer.of(0x40, 1, 0x61, 0x7f, 0xbd, 0x1d),
  Buffer.alloc(3900, 0x61),
]);
const repeated = Buffer.concat([strangerBlock, bigEntry, Buffer.alloc(4000, 0xbe)]);
const tableToZeroAndBack = Buffer.of(0x20, 0x3f, 0xe1, 0x1f);

/** A server must close these connections before the end. */
const fatal: readonly FrameFlood[] = [
  { name: "rapid reset", count: 4000, frames: (id) => [headers(id), reset(id)] },
  {
    name: "made you reset: a window update of 0",
    count: 4000,
    frames: (id) => [headers(id), windowUpdate(id, 0)],
  },
  {
    name: "made you reset: a window over 2^31",
    count: 4000,
    frames: (id) => [headers(id), windowUpdate(id, 2 ** 31 - 1)],
  },
  {
    name: "made you reset: a priority of four bytes",
    count: 4000,
    frames: (id) => [headers(id), priority(id, Buffer.alloc(4))],
  },
  {
    name: "made you reset: data behind the end",
    count: 4000,
    frames: (id) => [headers(id, strangerBlock, whole), data(id, "x")],
  },
  {
    name: "made you reset: a length that is wrong",
    count: 4000,
    frames: (id) => [headers(id, wrongLength), data(id, "xx", flag.endStream)],
  },
  { name: "streams over the limit", count: 4000, frames: (id) => [headers(id)] },
  {
    name: "continuations of 1 KB",
    count: 4000,
    first: openBlock,
    frames: () => [more(Buffer.alloc(1024))],
  },
  { name: "continuations of nothing", count: 20_000, first: openBlock, frames: () => [more()] },
  {
    name: "settings of 2,700 values",
    count: 500,
    frames: (_, index) => {
      const values = Array(2700).fill(setting(1, index % 2 === 0 ? 0 : 2 ** 20));
      return [frame(frameType.settings, { payload: Buffer.concat(values) })];
    },
  },
];

const tolerable: readonly FrameFlood[] = [
  { name: "settings", count: 20_000, frames: () => [settings] },
  {
    name: "settings that nobody takes the answers of",
    count: 20_000,
    frames: () => [settings],
    isDeaf: true,
  },
  { name: "pings", count: 20_000, frames: () => [ping] },
  {
    name: "pings that nobody takes the answers of",
    count: 50_000,
    frames: () => [ping],
    isDeaf: true,
  },
  { name: "data of nothing", count: 20_000, first: headers(), frames: () => [data(1, "")] },
  {
    name: "padding and no data",
    count: 2000,
    first: headers(),
    frames: () => [data(1, padding, 8)],
  },
  {
    name: "priorities",
    count: 20_000,
    frames: (id) => [priority(id, Buffer.concat([uint32(id + 2), Buffer.of(255)]))],
  },
  { name: "window updates of 1", count: 20_000, frames: () => [windowUpdate(0, 1)] },
  {
    name: "frames of a type that nobody knows",
    count: 20_000,
    frames: () => [frame(0xfe, { payload: Buffer.alloc(16) })],
  },
  {
    name: "HPACK: 4 KB, told 4,000 times in a block",
    count: 200,
    frames: (id) => [headers(id, repeated, whole)],
  },
  {
    name: "HPACK: a table that goes to 0 and back",
    count: 1000,
    frames: (id, index) => {
      const changes = Array(index % 40).fill(tableToZeroAndBack);
      return [headers(id, Buffer.concat([...changes, strangerBlock]), whole)];
    },
  },
];

export const frameFloods: readonly Flood[] = [...fatal, ...tolerable].map((flood) => ({
  name: flood.name,
  async run({ port }) {
    const { name, count, frames, first, isDeaf = false } = flood;
    function* all() {
      if (first !== undefined) yield first;
      for (let index = 0; index < count; index++) yield* frames(2 * index + 1, index);
    }
    const ends = await Promise.all(
      Array.from({ length: connectionsAtOnce }, () => pour(port, all(), isDeaf)),
    );
    const isFound = fatal.includes(flood) && ends.includes(false);
    return {
      count: count * connectionsAtOnce,
      found: isFound ? [`${name}: ${count} on a connection, and the server went on with it`] : [],
    };
  },
}));
