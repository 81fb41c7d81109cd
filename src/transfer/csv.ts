import { pipeline } from "node:stream/promises";
import type { ExactJson } from "connect-gateway";
import { CsvError, type InfoField, type InfoRecord, type Parser, parse } from "csv-parse";
import { type NewPlant, textFields } from "../plant.ts";
import { FormatError, type Row, RowError, type RowLimits, readableText, toRow } from "./row.ts";
import { withoutMark } from "./unzip.ts";

/** Written in this order; read in any. */
const columns = ["id", ...textFields] as const;
type Column = (typeof columns)[number];

/**
 * Reads plants from CSV (RFC 4180): a header with the columns, then one record per plant. An empty
 * field is absent. A quoted empty field is the empty text. Lines end in CRLF or LF.
 * @throws {FormatError} if the header has other columns, a record is too long, or the end of a
 * quoted field is unclear: the start of the next record is then unknown.
 */
export async function* readCsv(
  chunks: AsyncIterable<Uint8Array>,
  { lineBytesMax }: RowLimits,
): AsyncGenerator<Row, void> {
  const lines = createLineCount();
  let header: readonly Column[] | undefined;
  /** The fields of the current record. */
  let read: string[] = [];
  /** The line of the current record, if it is no CSV: the parser does not report its end. */
  let broken: number | undefined;
  const takeBroken = (lineNow?: number): Row[] => {
    if (broken === undefined || broken === lineNow) return [];
    const row = JSON.stringify(textOf(read));
    const rejected: Row = { kind: "malformed", line: broken, reason: quoteReason, row };
    broken = undefined;
    return [rejected];
  };
  const parser: Parser = parse({
    // Raw bytes: a decoder would replace invalid UTF-8.
    encoding: "latin1",
    record_delimiter: ["\r\n", "\n"],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: lineBytesMax,
    cast(bytes, context) {
      if (context.index === fieldsMax) {
        throw new FormatError(`line ${lines.of(context)} has more than ${fieldsMax} fields`);
      }
      if (context.index === 0) {
        for (const row of takeBroken(lines.of(context))) parser.push(row);
        read = [];
      }
      lines.add(bytes, context);
      const marked = context.quoting ? `${quote}${bytes}` : bytes;
      read.push(marked);
      return marked;
    },
    on_record(fields: string[], context: InfoRecord) {
      if (header === undefined) {
        header = parseHeader(fields);
        return null;
      }
      const names = header;
      const json = () => toJson(names, fields);
      const keep = (isRead: boolean) => JSON.stringify(isRead ? json() : textOf(fields));
      return toRow(lines.of(context), json, keep) as unknown as string[];
    },
    skip_records_with_error: true,
    on_skip(error) {
      if (!(error instanceof CsvError)) throw error;
      if (header === undefined) throw new FormatError(headerNeeded);
      const line = lines.of(error as unknown as InfoRecord);
      if (error.code !== "INVALID_OPENING_QUOTE") {
        const tooLong = `is longer than ${lineBytesMax} bytes; perhaps a quote is missing`;
        const problem = `${quoteErrors[error.code] ?? tooLong}; it and all behind it were not read`;
        throw new FormatError(`the row of line ${line} ${problem}`);
      }
      for (const row of takeBroken(line)) parser.push(row);
      broken = line;
    },
  });
  pipeline(withoutMark(chunks), parser).catch(() => {}); // which fails the parser
  yield* parser as AsyncIterable<Row>;
  yield* takeBroken();
  if (header === undefined) throw new FormatError(headerNeeded);
}

export const csvHeader = `${columns.join(",")}\r\n`;

export function writeCsvRecord(plant: NewPlant): string {
  return `${[plant.id, ...textFields.map((name) => field(plant[name]))].join(",")}\r\n`;
}

function field(text: string | undefined): string {
  if (text === undefined) return "";
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Marks a quoted field. No other field starts with it. */
const quote = '"';

/** A plant has three. Bounds a file of another kind that has no line breaks. */
const fieldsMax = 1000;

const quoteReason = "a field with a quote in it must be quoted, and the quote doubled";

/** After these, rows could be taken for parts of a field. */
const quoteErrors: Readonly<Record<string, string>> = {
  CSV_INVALID_CLOSING_QUOTE: "has a quote in a quoted field that is not doubled",
  CSV_QUOTE_NOT_CLOSED: "has a quoted field without a closing quote",
};

const headerNeeded = `the first line of CSV must name the columns ${columns.join(",")}; all but id and name may be left out`;

/** Columns may be in upper case. @throws {FormatError} */
function parseHeader(fields: readonly string[]): readonly Column[] {
  const found = fields.map((name) => (name.startsWith(quote) ? name.slice(1) : name));
  const names = found.map((name) => name.toLowerCase());
  const isColumn = (name: string): name is Column => columns.some((column) => column === name);
  const isWhole = names.includes("id") && names.includes("name");
  if (!names.every(isColumn) || !isWhole || new Set(names).size !== names.length) {
    throw new FormatError(`${headerNeeded}; ${describeHeader(found.join(","))}`);
  }
  return names;
}

const headerCharactersMax = 60;

function describeHeader(header: string): string {
  const start = Buffer.from(header, "latin1").toString().slice(0, headerCharactersMax);
  const separator = [";", "\t"].find((one) => !header.includes(",") && header.includes(one));
  const advice = separator === undefined ? "" : ": separate the columns by commas";
  return `it is ${JSON.stringify(start)}${advice}`;
}

function toJson(header: readonly Column[], fields: readonly string[]): ExactJson {
  if (fields.length !== header.length) {
    throw new RowError(
      `the row has ${fields.length} fields in place of ${header.length}; a comma in a field needs quotes`,
    );
  }
  const texts = header.flatMap((name, index) => {
    const text = decode(name, fields[index] ?? "");
    return text === undefined ? [] : [[name, text] as const];
  });
  return Object.fromEntries(texts);
}

function decode(name: Column, marked: string): string | undefined {
  if (marked === "") return undefined;
  const isQuoted = marked.startsWith(quote);
  if (!isQuoted && marked.includes("\r")) {
    throw new RowError(`${name} has a line break without quotes around it`);
  }
  const bytes = Buffer.from(isQuoted ? marked.slice(1) : marked, "latin1");
  try {
    return utf8.decode(bytes);
  } catch {
    throw new RowError(`${name} is not valid UTF-8`);
  }
}

const textOf = (fields: readonly string[]) =>
  fields.map((marked) => readableText(Buffer.from(marked, "latin1"))).join(",");

// ignoreBOM keeps a U+FEFF at the start of a field.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Counts lines, because the parser counts a CRLF between quotes twice. */
function createLineCount() {
  /** Records with at least one field read. */
  let begun = 0;
  let breaks = 0;
  let breaksBefore = 0;
  return {
    add(bytes: string, { index }: InfoField): void {
      if (index === 0) {
        begun++;
        breaksBefore = breaks;
      }
      breaks += bytes.split("\n").length - 1;
    },
    /** The first line of the current record, from 1. */
    of: ({ index, empty_lines }: Pick<InfoRecord, "index" | "empty_lines">): number =>
      empty_lines + (index > 0 ? begun + breaksBefore : begun + 1 + breaks),
  };
}
