/** Sequences of JSON values: NDJSON, or the elements of one JSON array. */
import type { ConnectError } from "@connectrpc/connect";
import { messageTooLarge } from "../../codec/codec.ts";
import { badRequest, FieldViolation } from "../../codec/violation.ts";
import { RestFailure } from "../../errors/http.ts";
import { BodyBuffer } from "../../http/body.ts";
import type { Holding } from "../../http/body-budget.ts";

const newline = 0x0a;
const quote = 0x22;
const comma = 0x2c;
const openArray = 0x5b;
const backslash = 0x5c;
const closeArray = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

interface ValueLimits {
  readonly valueBytesMax: number;
  /** Counts the received part of a value; undefined for no limit. */
  readonly holding?: Holding | undefined;
}

/** The lines (NDJSON) that are wanted: those that are not blank. @throws {RestFailure} 413 above `valueBytesMax`. */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  limits: ValueLimits,
  isWanted = (line: Uint8Array) => !isBlank(line),
): AsyncGenerator<Uint8Array> {
  const value = createValueBuffer(limits);
  for await (const chunk of value.holdAll(chunks)) {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      if (end > from) value.add(chunk.subarray(from, end));
      from = end + 1;
      const line = value.take();
      if (isWanted(line)) yield line;
    }
    value.add(chunk.subarray(from));
  }
  const rest = value.take();
  if (rest.length > 0 && isWanted(rest)) yield rest;
}

/**
 * Splits a JSON array into the texts of its elements as they arrive. Does not check their content.
 * @throws {ConnectError} INVALID_ARGUMENT if it is not an array; {RestFailure} 413 as for lines.
 */
export async function* splitArray(
  chunks: AsyncIterable<Uint8Array>,
  limits: ValueLimits,
): AsyncGenerator<Uint8Array> {
  const value = createValueBuffer(limits);
  let depth = 0;
  let isDone = false;
  let inString = false;
  let isEscaped = false;
  let isEmpty = true;
  for await (const chunk of value.holdAll(chunks)) {
    let from = 0;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i] ?? 0;
      if (inString) {
        if (isEscaped) isEscaped = false;
        else if (byte === backslash) isEscaped = true;
        else if (byte === quote) inString = false;
        continue;
      }
      if (depth === 0) {
        if (isSpace(byte)) continue;
        if (isDone || byte !== openArray) throw wrong();
      }
      if (byte === quote) inString = true;
      else if (byte === openArray || byte === openObject) {
        if (++depth === 1) from = i + 1;
      } else if (byte === closeArray || byte === closeObject) {
        isDone = --depth === 0;
        if (isDone && byte !== closeArray) throw wrong();
      }
      if (!isDone && !(byte === comma && depth === 1)) continue;
      value.add(chunk.subarray(from, i));
      from = i + 1;
      const text = value.take();
      if (isDone && isEmpty && isBlank(text)) continue;
      isEmpty = false;
      yield text;
    }
    if (depth > 0) value.add(chunk.subarray(from));
  }
  if (!isDone) throw wrong();
}

/** Splits a JSON array, or lines: the first character tells, where a media type does not. */
export async function* splitValues(
  chunks: AsyncGenerator<Uint8Array>,
  limits: ValueLimits,
): AsyncGenerator<Uint8Array> {
  for await (const first of chunks) {
    if (isBlank(first)) continue;
    const all = async function* () {
      yield first;
      yield* chunks;
    };
    const isArray = first.find((byte) => !isSpace(byte)) === openArray;
    yield* isArray ? splitArray(all(), limits) : splitLines(all(), limits);
  }
}

function wrong(): ConnectError {
  return badRequest([new FieldViolation("", "must be one JSON array")]);
}

export function tooLarge(bytesMax: number): RestFailure {
  const { code, rawMessage } = messageTooLarge(bytesMax);
  return new RestFailure(413, code, rawMessage);
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

function isBlank(text: Uint8Array): boolean {
  return text.every(isSpace);
}

function createValueBuffer({ valueBytesMax, holding }: ValueLimits) {
  const bytes = new BodyBuffer(holding);
  let room: Promise<void> | undefined;
  return {
    /** Passes chunks on while there is room for the parts that are kept. */
    async *holdAll(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const chunk of chunks) {
        yield chunk;
        bytes.settle();
        await room;
      }
    },
    add(piece: Uint8Array): void {
      if (bytes.length + piece.byteLength > valueBytesMax) throw tooLarge(valueBytesMax);
      if (piece.byteLength > 0) room = bytes.append(piece);
    },
    take: (): Uint8Array => (bytes.length === 0 ? bytes.bytes : bytes.take(bytes.length)),
  };
}
