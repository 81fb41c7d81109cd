export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

export function code(text: string): string {
  return `<code>${escapeHtml(text)}</code>`;
}

/** A comment of a proto: `code` between backticks, blank lines between paragraphs. */
export function prose(text: string): string {
  return escapeHtml(text)
    .replaceAll(/`([^`]+)`/g, "<code>$1</code>")
    .replaceAll(/\n\s*\n/g, "<br><br>");
}

export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (kind: "th" | "td", cells: readonly string[]) =>
    `<tr>${cells.map((cell) => `<${kind}>${cell}</${kind}>`).join("")}</tr>`;
  return `<table><thead>${line("th", titles)}</thead>
<tbody>${rows.map((row) => line("td", row)).join("\n")}</tbody></table>`;
}
