import { readFileSync } from "node:fs";

/** A deliberate break, and the check that must detect it. */
export interface Mutant {
  /** What the broken code does. */
  readonly name: string;
  /** Relative to the root of the project. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** The name of a campaign, or the path of a test file. */
  readonly campaign: string;
}

/** In mutants.diff, `@ FILE, CAMPAIGN` begins a group. Each row is a name, `- FIND` and `+ REPLACE`. */
export const mutants: readonly Mutant[] = parse(
  readFileSync(new URL("mutants.diff", import.meta.url), "utf8"),
);

function parse(text: string): Mutant[] {
  return text.split(/^(?=@ )/m).flatMap((group) => {
    const [, file = "", campaign = "", rows = group] = /^@ (\S+), (\S+)\n(.*)$/s.exec(group) ?? [];
    const row = /^([^-+\n].*)\n((?:-.*\n)+)((?:\+.*\n)*)/gm;
    const rest = rows.replaceAll(row, "").trim();
    if (rest !== "") throw new SyntaxError(`mutants.diff has lines of no row: ${rest}`);
    return [...rows.matchAll(row)].map(([, name = "", find, replace]) => ({
      ...{ name, file, campaign },
      find: unmark(find),
      replace: unmark(replace),
    }));
  });
}

function unmark(lines = ""): string {
  return lines.replace(/\n$/, "").replace(/^[-+] ?/gm, "");
}
