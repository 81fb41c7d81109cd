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
    changed = random.pick(changes)(changed, random);
  return changed;
}

type Change = (bytes: Buffer, random: Random) => Buffer;

const changes: readonly Change[] = [
  function flipBit(bytes, random) {
    return replaceAt(bytes, random, (byte) => byte ^ (1 << random.int(0, 7)));
  },
  function changeByte(bytes, random) {
    return replaceAt(bytes, random, () => random.int(0, 255));
  },
  function insertPiece(bytes, random) {
    const at = random.int(0, bytes.length);
    return Buffer.concat([bytes.subarray(0, at), random.pick(pieces), bytes.subarray(at)]);
  },
  function removeRange(bytes, random) {
    const [from, to] = range(bytes, random);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
  },
  function repeatRange(bytes, random) {
    const [from, to] = range(bytes, random);
    const part = bytes.subarray(from, to);
    const times = random.int(1, 4);
    return Buffer.concat([bytes.subarray(0, to), ...Array(times).fill(part), bytes.subarray(to)]);
  },
  function moveRange(bytes, random) {
    const [from, to] = range(bytes, random);
    const rest = Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
    const at = random.int(0, rest.length);
    return Buffer.concat([rest.subarray(0, at), bytes.subarray(from, to), rest.subarray(at)]);
  },
  function cutEnd(bytes, random) {
    return bytes.subarray(0, random.int(0, bytes.length));
  },
];

function replaceAt(bytes: Buffer, random: Random, change: (byte: number) => number): Buffer {
  if (bytes.length === 0) return bytes;
  const copy = Buffer.from(bytes);
  const at = random.int(0, copy.length - 1);
  copy[at] = change(copy[at] ?? 0);
  return copy;
}

function range(bytes: Buffer, random: Random): [from: number, to: number] {
  const from = random.int(0, bytes.length);
  return [from, Math.min(bytes.length, from + random.int(1, 12))];
}
