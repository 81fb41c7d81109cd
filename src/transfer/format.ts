import { extname } from "node:path";
import { type NewPlant, textFields } from "../plant.ts";
import { csvHeader, readCsv, writeCsvRecord } from "./csv.ts";
import { readNdjson, writeNdjsonLine } from "./ndjson.ts";
import type { Row, RowLimits } from "./row.ts";

export const formatNames = ["ndjson", "csv"] as const;
export type FormatName = (typeof formatNames)[number];

/** A file format. What is written is read back as the same plants. */
export interface Format {
  readonly read: (chunks: AsyncIterable<Uint8Array>, limits: RowLimits) => AsyncGenerator<Row>;
  /** Written before the first plant. */
  readonly header: string;
  readonly write: (plant: NewPlant) => string;
}

export const formats: Readonly<Record<FormatName, Format>> = {
  ndjson: { read: readNdjson, header: "", write: writeNdjsonLine },
  csv: { read: readCsv, header: csvHeader, write: writeCsvRecord },
};

// A file's head may end within any of these.
const text = String.raw`"(?:[^"\\\n]|\\.)*(?:"|\\?$)`;
const plant = String.raw`\{"id":-?\d+(?:,"(?:${textFields.join("|")})":${text})+`;
const rejection = String.raw`\{"line":\d+,"reason":${text}(?:,"row":[^\n]*)?`;
const end = String.raw`(?:\}\r?(?:\n|$)|(?:,"?\w*"?:?)?$)`;

/** The start of what is written in any of the formats. */
export const startOfPlants = new RegExp(`^(?:${csvHeader.trim()}\\r?(?:\\n|$)|${plant}${end})`);
export const startOfRejects = new RegExp(`^${rejection}${end}`);

const extensions: ReadonlyMap<string, FormatName> = new Map([
  [".ndjson", "ndjson"],
  [".jsonl", "ndjson"],
  [".csv", "csv"],
]);

/** The format by a file's extension, before `.gz`; undefined for any other. */
export function formatOfFile(file: string): FormatName | undefined {
  return extensions.get(extname(file.replace(gz, "")).toLowerCase());
}

/** Whether a file's name says that it is compressed. */
export const isZipped = (file: string) => gz.test(file);

const gz = /\.gz$/i;

/** A file of plants, a piece for each page of them. @param onPage Called with the plants written so far. */
export async function* writePlants(
  pages: AsyncIterable<readonly NewPlant[]>,
  format: Format,
  onPage: (plants: number) => void,
): AsyncGenerator<Buffer, void> {
  yield Buffer.from(format.header);
  let done = 0;
  for await (const page of pages) {
    yield Buffer.from(page.map(format.write).join(""));
    done += page.length;
    onPage(done);
  }
}
