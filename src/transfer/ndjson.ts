import { type ExactJson, parseJson, rawJson } from "connect-gateway";
import type { NewPlant } from "../plant.ts";
import { type Row, RowError, type RowLimits, readableText, toRow } from "./row.ts";
import { withoutMark } from "./unzip.ts";

/**
 * One JSON object per line, `{"id", "name", "tag"}`, or a rejected row of an earlier import. Skips
 * empty lines. A line that is too long is not buffered.
 */
export async function* readNdjson(
  chunks: AsyncIterable<Uint8Array>,
  { lineBytesMax }: RowLimits,
): AsyncGenerator<Row, void> {
  let line = 0;
  for await (const content of splitLines(withoutMark(chunks), lineBytesMax)) {
    line++;
    if (content === "too_long") {
      const reason = `the row is longer than ${lineBytesMax} bytes`;
      yield { kind: "malformed", line, reason };
    } else if (!content.every(isSpace)) {
      // `JSON.parse` may confuse keys with those of an earlier row.
      const read = () => unwrap(parseJson(content)) as ExactJson;
      yield toRow(line, read, (isRead) =>
        JSON.stringify(isRead ? read() : readableText(content), keepDigits),
      );
    }
  }
}

/** The line of a rejected row: `row` holds its fields, or the text of a row that has none. */
export function writeRejection(line: number, reason: string, row: string | undefined): string {
  const text = row === undefined ? "" : `,"row":${row}`;
  return `{"line":${line},"reason":${JSON.stringify(reason)}${text}}\n`;
}

/** Takes the row out of a line of {@link writeRejection}, after a user has fixed it. */
function unwrap(json: unknown): unknown {
  const isRejection = json instanceof Object && "line" in json && "reason" in json;
  if (!isRejection) return json;
  const row = "row" in json ? json.row : undefined;
  if (isObject(row)) return row;
  throw new RowError("the row to import must be an object in the field row");
}

/** Neither a list, nor a number that `parseJson` keeps as written. */
function isObject(json: unknown): boolean {
  return json instanceof Object && Object.getPrototypeOf(json) === Object.prototype;
}

/** A replacer for `JSON.stringify`: such a number is written as it was. */
function keepDigits(_: string, json: unknown): unknown {
  const isKept = json instanceof Object && !isObject(json) && "source" in json;
  return isKept ? rawJson(`${json.source}`) : json;
}

/** Formats a plant as a line. The id is a JSON number with all digits, for exact readers. */
export function writeNdjsonLine({ id, ...texts }: NewPlant): string {
  return `{"id":${id},${JSON.stringify(texts).slice(1)}\n`;
}

async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  max: number,
): AsyncGenerator<Buffer | "too_long"> {
  let parts: Buffer[] = [];
  let length = 0;
  const add = (part: Buffer) => {
    length += part.length;
    if (length > max) parts = [];
    else parts.push(part);
  };
  const take = () => {
    const line = length > max ? "too_long" : Buffer.concat(parts);
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, start)) {
      add(chunk.subarray(start, end));
      start = end + 1;
      yield take();
    }
    add(chunk.subarray(start));
  }
  if (length > 0) yield take();
}

/** JSON whitespace. */
const isSpace = (byte: number) => byte === 0x20 || byte === 0x09 || byte === 0x0d;
