import type { Random } from "../random.ts";

/** Bytes that parsers get wrong, alone or where they do not belong. */
const pieces: readonly Buffer[] = [
  ...["\r\n", "\n", "\r", "\0", " ", "\t", ":", ",", ";", '"', "\\", "{", "}", "[", "]", "0", "-"],
  ...["\r\n\r\n", "\\u0000", "\\ud800", "null", "1e999", "__proto__", '"id":1,', "\ufeff", "%00"],
  ...["\x80", "\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf0\x9f", "\x7f", "\x08"],
].map((text) => Buffer.from(text, "latin1"));

/** The bytes with one to three changes. A change may have no effect. */
export function mutate(bytes: Buffer, random: Random): Buffer {
  let changed = bytes;
  for (let times = random.int(1, 3); times > 0; times--)
    changed = random.pick(Object.values(changes))(changed, random);
  return changed;
}

type Change = (bytes: Buffer, random: Random) => Buffer;

const changes: Readonly<Record<string, Change>> = {
  flipBit: (bytes, random) => replaceAt(bytes, random, (byte) => byte ^ (1 << random.int(0, 7))),
  changeByte: (bytes, random) => replaceAt(bytes, random, () => random.int(0, 255)),
  insertPiece(bytes, random) {
    const [before, after] = cut(bytes, random);
    return Buffer.concat([before, random.pick(pieces), after]);
  },
  removeRange(bytes, random) {
    const [before, , after] = cutRange(bytes, random);
    return Buffer.concat([before, after]);
  },
  repeatRange(bytes, random) {
    const [before, part, after] = cutRange(bytes, random);
    return Buffer.concat([before, ...Array(random.int(2, 5)).fill(part), after]);
  },
  moveRange(bytes, random) {
    const [before, part, after] = cutRange(bytes, random);
    const [first, rest] = cut(Buffer.concat([before, after]), random);
    return Buffer.concat([first, part, rest]);
  },
  cutEnd: (bytes, random) => cut(bytes, random)[0],
};

function replaceAt(bytes: Buffer, random: Random, change: (byte: number) => number): Buffer {
  if (bytes.length === 0) return bytes;
  const copy = Buffer.from(bytes);
  const at = random.int(0, copy.length - 1);
  copy[at] = change(copy[at] ?? 0);
  return copy;
}

function cut(bytes: Buffer, random: Random): [before: Buffer, after: Buffer] {
  const at = random.int(0, bytes.length);
  return [bytes.subarray(0, at), bytes.subarray(at)];
}

function cutRange(bytes: Buffer, random: Random): [before: Buffer, part: Buffer, after: Buffer] {
  const [before, rest] = cut(bytes, random);
  const length = random.int(1, 12);
  return [before, rest.subarray(0, length), rest.subarray(length)];
}
