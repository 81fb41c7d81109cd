/** A line of the log for who reads a terminal. */
interface Line {
  readonly time: string;
  readonly level: string;
  readonly msg: string;
  readonly err?: { readonly stack: string };
  readonly [field: string]: unknown;
}

/**
 * Makes text of a line of JSON. Ours, because that is all we need of pino-pretty,
 * which brings thirteen packages and more of its own.
 */
export function formatLine(json: string): string {
  const { time, level, msg, err, ...fields } = JSON.parse(json) as Line;
  const pairs = Object.entries(fields).map(([name, value]) => ` ${name}=${formatField(value)}`);
  return `${time} ${level} ${msg}${pairs.join("")}${err === undefined ? "" : `: ${err.stack}`}\n`;
}

/** Quoted, unless it is plain: a control character would be the terminal's. */
function formatField(value: unknown): string {
  return typeof value === "string" && plain.test(value)
    ? value
    : escapeUnprintable(JSON.stringify(value));
}

const plain = /^[\x21\x23-\x7e]+$/;

/** JSON leaves some alone: DEL, C1, and what turns the direction of a text. */
function escapeUnprintable(text: string): string {
  return text.replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
