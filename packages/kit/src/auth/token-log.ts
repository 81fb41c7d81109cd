/**
 * The text of a token file: an append-only log with one event a line.
 *
 *     # comment
 *     create NAME SHA256 TIME
 *     revoke NAME TIME
 *
 * NAME has 1 to 64 of `A-Za-z0-9._-`, SHA256 is the digest of the whole token in lower-case hex,
 * TIME is ISO 8601 in UTC. Events apply in order. Creating a live name has no effect, and neither
 * has revoking one that is not live. So the file itself decides every race.
 *
 * The last line may be incomplete (a crash, a full disk). As each event ends with TIME, it did not
 * happen. The next writer turns it into a comment by appending {@link tornMark}.
 */
export interface TokenLog {
  /** The tokens that are valid at the end of the log, in the order of their creation. */
  readonly live: ReadonlyMap<string, TokenRecord>;
  /** Numbers of the lines that cannot be parsed, from 1. */
  readonly badLines: readonly number[];
  /** The text that the next writer must put before its own line. */
  readonly tail: "" | "\n" | typeof tornMark;
}

export interface TokenRecord {
  readonly name: string;
  /** SHA-256 of the token, in lower-case hex. */
  readonly digest: string;
  /** When it was created, as written in the file: ISO 8601, UTC. */
  readonly createdAt: string;
}

export type TokenEvent =
  | ({ readonly kind: "create" } & TokenRecord)
  | { readonly kind: "revoke"; readonly name: string; readonly at: string };

/** Ends a torn line and turns it into a comment. On a line of its own, it is a comment, too. */
export const tornMark = " # cut short, ignored\n";

export function parseTokenLog(text: string): TokenLog {
  const live = new Map<string, TokenRecord>();
  const badLines: number[] = [];
  const lines = text.split("\n");
  const last = lines.pop() ?? "";
  for (const [index, line] of lines.entries()) {
    const event = parseLine(line);
    if (event === undefined) badLines.push(index + 1);
    else if (event !== "nothing") apply(event);
  }
  const lastEvent = parseLine(last);
  if (lastEvent !== undefined && lastEvent !== "nothing") apply(lastEvent);
  const tail = last === "" ? "" : lastEvent === undefined ? tornMark : "\n";
  if (tail === tornMark && !torn.test(last)) badLines.push(lines.length + 1);
  return { live, badLines, tail };

  function apply(event: TokenEvent): void {
    if (event.kind === "revoke") {
      live.delete(event.name);
    } else if (!live.has(event.name)) {
      const { name, digest, createdAt } = event;
      live.set(name, { name, digest, createdAt });
    }
  }
}

export function formatTokenEvent(event: TokenEvent): string {
  return event.kind === "create"
    ? `create ${event.name} ${event.digest} ${event.createdAt}\n`
    : `revoke ${event.name} ${event.at}\n`;
}

export function isTokenName(name: string): boolean {
  return /^[A-Za-z0-9._-]{1,64}$/.test(name);
}

/** `undefined` if the line cannot be parsed. Spaces at its ends and a CR may come from an editor. */
function parseLine(line: string): TokenEvent | "nothing" | undefined {
  const text = line.trim();
  if (text === "" || text.startsWith("#") || text.endsWith(tornMark.trimEnd())) return "nothing";
  const [, kind, name = "", digest, at = ""] = syntax.exec(text) ?? [];
  if (kind === "create" && digest !== undefined) return { kind, name, digest, createdAt: at };
  return kind === "revoke" && digest === undefined ? { kind, name, at } : undefined;
}

/** The start of an event, or NULs. Else it is the end of a file of something else. */
const torn = /^(\p{Cc}|create |revoke |[cr]\w{0,5}$)|\0$/u;
const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z`;
const syntax = new RegExp(
  `^(create|revoke) +([A-Za-z0-9._-]{1,64})(?: +([0-9a-f]{64}))? +(${time})$`,
);
