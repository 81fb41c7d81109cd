import { parseJson, rawJson } from "connect-gateway";
import type { NewPlant } from "../plant.ts";
import { withoutMark } from "./byte-order-mark.ts";
import { type Row, type RowLimits, toRow } from "./row.ts";

/**
 * Reads plants from NDJSON: one JSON object per line, `{"id", "name", "tag"}`. Skips empty lines.
 * A line that is too long is skipped without being buffered.
 */
export async function* readNdjson(
  chunks: AsyncIterable<Uint8Array>,
  { lineBytesMax }: RowLimits,
): AsyncGenerator<Row, void> {
  let line = 0;
  let bytes = 0;
  for await (const { content, length } of splitLines(withoutMark(chunks), lineBytesMax)) {
    line++;
    bytes += length;
    if (content === "too_long") {
      const reason = `the row is longer than ${lineBytesMax} bytes`;
      yield { kind: "malformed", line, bytes, reason };
    } else if (!content.every(isSpace)) {
      yield toRow({ line, bytes }, () => parseJson(content));
    }
  }
}

/** Formats a plant as a line. The id is a JSON number with all digits, for exact readers. */
export function writeNdjsonLine({ id, ...texts }: NewPlant): string {
  return `${JSON.stringify({ id: rawJson(String(id)), ...texts })}\n`;
}

interface Line {
  readonly content: Buffer | "too_long";
  /** In bytes, with its line feed. */
  readonly length: number;
}

async function* splitLines(chunks: AsyncIterable<Buffer>, max: number): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let length = 0;
  const add = (part: Buffer) => {
    length += part.length;
    if (length > max) parts = [];
    else parts.push(part);
  };
  const take = (end: number): Line => {
    const content = length > max ? "too_long" : Buffer.concat(parts);
    const line = { content, length: length + end } as const;
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, start)) {
      add(chunk.subarray(start, end));
      start = end + 1;
      yield take(1);
    }
    add(chunk.subarray(start));
  }
  if (length > 0) yield take(0);
}

/** JSON whitespace. */
function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d;
}
