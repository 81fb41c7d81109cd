/** Floods of HTTP/2 frames, each on a few connections at once. */
import { flag, frame, frameType } from "../../../../packages/gateway/test/support/frames.ts";
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
} from "../wire.ts";
import { type Flood, pour } from "./flood.ts";

type FrameFlood = readonly [
  name: string,
  count: number,
  /** What to send repeatedly, each time with the next stream. */
  frames: (streamId: number, index: number) => readonly Buffer[],
  /** Sent once before them; `deaf` reads nothing from the server. */
  begin?: Buffer | "deaf",
];

const connectionsAtOnce = 3;

const whole = flag.endHeaders | flag.endStream;
const ended = (id: number) => headers(id, strangerBlock, whole);
const wrongLength = blockOf({ authorization: null, "content-length": "1" });
const emptySettings = [frame(frameType.settings)];
const ping = [frame(frameType.ping, { payload: Buffer.alloc(8) })];
const more = (payload: Buffer) => [frame(frameType.continuation, { streamId: 1, payload })];
const openBlock = headers(1, strangerBlock, 0);
const padding = Buffer.concat([Buffer.of(255), Buffer.alloc(255)]);

function manySettings(index: number): Buffer[] {
  const values = Array(2700).fill(setting(1, index % 2 === 0 ? 0 : 2 ** 20));
  return [frame(frameType.settings, { payload: Buffer.concat(values) })];
}

/** A field that the table stores: 0x40, a name of one byte, a value of 3,900. */
const bigEntry = Buffer.concat([
  Buffer.of(0x40, 1, 0x61, 0x7f, 0xbd, 0x1d),
  Buffer.alloc(3900, 0x61),
]);
const repeated = Buffer.concat([strangerBlock, bigEntry, Buffer.alloc(4000, 0xbe)]);

/** With so many changes of the table's size, to 0 and back. */
function changed(count: number): Buffer {
  return Buffer.concat([...Array(count).fill(Buffer.of(0x20, 0x3f, 0xe1, 0x1f)), strangerBlock]);
}

/** `x: y`, as a literal (RFC 7541 section 6.2.2). */
const oneField = Buffer.of(0, 1, 0x78, 1, 0x79);

const madeYouReset = "made you reset: ";

/** A server must close these connections before the end. */
const fatal: readonly FrameFlood[] = [
  ["rapid reset", 30_000, (id) => [headers(id), reset(id)]],
  [`${madeYouReset}a window update of 0`, 4000, (id) => [headers(id), windowUpdate(id, 0)]],
  [`${madeYouReset}a window over 2^31`, 4000, (id) => [headers(id), windowUpdate(id, 2 ** 31 - 1)]],
  [`${madeYouReset}a priority of four bytes`, 4000, (id) => [headers(id), priority(id, uint32(0))]],
  [`${madeYouReset}data behind the end`, 4000, (id) => [ended(id), data(id, "x")]],
  [
    `${madeYouReset}a length that is wrong`,
    4000,
    (id) => [headers(id, wrongLength), data(id, "xx", flag.endStream)],
  ],
  // Their headers may outlive the session, which ended the process.
  [`${madeYouReset}trailers without an end`, 4000, (id) => [headers(id), headers(id, oneField)]],
  ["streams over the limit", 4000, (id) => [headers(id)]],
  ["continuations of 1 KB", 4000, () => more(Buffer.alloc(1024)), openBlock],
  ["continuations of nothing", 20_000, () => more(Buffer.alloc(0)), openBlock],
  ["settings of 2,700 values", 500, (_, index) => manySettings(index)],
];

const tolerable: readonly FrameFlood[] = [
  ["settings", 20_000, () => emptySettings],
  ["settings that nobody takes the answers of", 20_000, () => emptySettings, "deaf"],
  ["pings", 20_000, () => ping],
  ["pings that nobody takes the answers of", 50_000, () => ping, "deaf"],
  ["data of nothing", 20_000, () => [data(1, "")], headers()],
  ["padding and no data", 2000, () => [data(1, padding, 8)], headers()],
  ["priorities", 20_000, (id) => [priority(id, Buffer.concat([uint32(id + 2), Buffer.of(255)]))]],
  ["window updates of 1", 20_000, () => [windowUpdate(0, 1)]],
  ["frames of an unknown type", 20_000, () => [frame(0xfe, { payload: Buffer.alloc(16) })]],
  ["HPACK: 4 KB, told 4,000 times in a block", 200, (id) => [headers(id, repeated, whole)]],
  ["HPACK: a table of 0 and back", 1000, (id, index) => [headers(id, changed(index % 40), whole)]],
];

export const frameFloods: readonly Flood[] = [...fatal, ...tolerable].map((flood) => {
  const [name, count, frames, begin] = flood;
  const first = Buffer.isBuffer(begin) ? [begin] : [];
  return {
    name,
    async run({ port }) {
      const each = Array.from({ length: count }, (_, index) => frames(2 * index + 1, index));
      const all = Buffer.concat([...first, ...each.flat()]);
      const ends = await Promise.all(
        Array.from({ length: connectionsAtOnce }, () => pour(port, all, begin === "deaf")),
      );
      const isFound = fatal.includes(flood) && ends.includes(false);
      return {
        count: count * connectionsAtOnce,
        found: isFound ? [`${name}: ${count} on a connection, and the server went on with it`] : [],
      };
    },
  };
});
