/**
 * The text of a token file: a log, one event a line, only ever appended to.
 *
 *     # comment
 *     create NAME SHA256 TIME
 *     revoke NAME TIME
 *
 * NAME has 1 to 64 of `A-Za-z0-9._-`; SHA256 is of the whole token, 64 lower-case
 * hex digits; TIME is ISO 8601 in UTC. Events count in the order of the file:
 * creating a name that is live changes nothing, and so does revoking one that is
 * not. That makes the file itself the judge of every race.
 *
 * The last line may be torn (a crash, a full disk, a write under way). As TIME
 * ends each event, no part of one is an event: what has no line break and is no
 * event did not happen. The next writer makes a comment of it, by appending
 * {@link tornMark}.
 */
export interface TokenLog {
  /** The tokens that are valid at the end of the log, in the order of their creation. */
  readonly live: ReadonlyMap<string, TokenRecord>;
  /** The digest of each token whose creation took effect, revoked later or not. */
  readonly created: ReadonlySet<string>;
  /** Lines, from 1, that say nothing that can be understood. */
  readonly badLines: readonly number[];
  /** What the next writer has to put before its own line. */
  readonly tail: "" | "\n" | typeof tornMark;
}

/** A token that was created and not revoked. */
export interface TokenRecord {
  readonly name: string;
  /** SHA-256 of the token, in lower-case hex. */
  readonly digest: string;
  /** When it was created, as it stands in the file: ISO 8601, UTC. */
  readonly createdAt: string;
}

export type TokenEvent =
  | ({ readonly kind: "create" } & TokenRecord)
  | { readonly kind: "revoke"; readonly name: string; readonly at: string };

/** Ends a torn line, and makes a comment of it. On a line of its own it is one, too. */
export const tornMark = " # cut short, ignored\n";

export function parseTokenLog(text: string): TokenLog {
  const live = new Map<string, TokenRecord>();
  const created = new Set<string>();
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
  return { live, created, badLines, tail: tailAfter(last, lastEvent !== undefined) };

  function apply(event: TokenEvent): void {
    if (event.kind === "revoke") {
      live.delete(event.name);
    } else if (!live.has(event.name)) {
      const { name, digest, createdAt } = event;
      live.set(name, { name, digest, createdAt });
      created.add(digest);
    }
  }
}

/** The line of an event, with its line break. */
export function formatTokenEvent(event: TokenEvent): string {
  return event.kind === "create"
    ? `create ${event.name} ${event.digest} ${event.createdAt}\n`
    : `revoke ${event.name} ${event.at}\n`;
}

export function isTokenName(name: string): boolean {
  return /^[A-Za-z0-9._-]{1,64}$/.test(name);
}

/** `undefined` when the line cannot be understood. Spaces at its ends and a CR are an editor's. */
function parseLine(line: string): TokenEvent | "nothing" | undefined {
  const text = line.trim();
  if (text === "" || text.startsWith("#") || text.endsWith(tornMark.trimEnd())) return "nothing";
  const [, created, digest, createdAt] = createSyntax.exec(text) ?? [];
  if (created !== undefined && digest !== undefined && createdAt !== undefined) {
    return { kind: "create", name: created, digest, createdAt };
  }
  const [, revoked, at] = revokeSyntax.exec(text) ?? [];
  if (revoked !== undefined && at !== undefined) return { kind: "revoke", name: revoked, at };
  return undefined;
}

function tailAfter(last: string, understood: boolean): TokenLog["tail"] {
  if (last === "") return "";
  return understood ? "\n" : tornMark;
}

const name = "([A-Za-z0-9._-]{1,64})";
const time = String.raw`(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z)`;
const createSyntax = new RegExp(`^create +${name} +([0-9a-f]{64}) +${time}$`);
const revokeSyntax = new RegExp(`^revoke +${name} +${time}$`);
