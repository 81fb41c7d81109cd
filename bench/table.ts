/** A table of figures in Markdown, readable as it is. */
export interface Table {
  readonly title: string;
  /** The first column is text, the others are figures. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Notes for the reader, below the table. */
  readonly notes: readonly string[];
}

export function formatTable({ title, columns, rows, notes }: Table): string {
  const widths = columns.map((column, n) =>
    Math.max(3, column.length, ...rows.map((row) => (row[n] ?? "").length)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, n) => (n === 0 ? cell.padEnd(widths[n] ?? 0) : cell.padStart(widths[n] ?? 0))).join(" | ")} |`;
  const rule = widths.map((width, n) =>
    n === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`,
  );
  return [`### ${title}`, "", line(columns), line(rule), ...rows.map(line), "", ...notes, ""].join(
    "\n",
  );
}

/** Unknown figures, for example if the system does not report them, are a dash. */
export function figure(value: number | undefined, digits: number): string {
  return value === undefined
    ? "–"
    : value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
