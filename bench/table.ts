/** A table of figures, as Markdown, which is readable as it is. */
export interface Table {
  readonly title: string;
  /** The first is text, the others are figures. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** What a reader must know, below the table. */
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

/** `unknown` figures, for example where the system does not tell, are a dash. */
export function figure(value: number | undefined, digits: number): string {
  return value === undefined
    ? "–"
    : value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
