import { type GivenValue, type Named, type SettingProblem, variableOf } from "./schema.ts";

/** A variable that is set to nothing is not set: compose files create empty variables for missing values. */
export function takeEnvironment(program: Named, variables: NodeJS.ProcessEnv) {
  const { entries, otherVariables, variablePrefix: prefix } = program;
  const names = [...entries.map(({ name }) => name), "config"];
  const byVariable = new Map(names.map((name) => [variableOf(program, name), name]));
  /** By the names of the settings, and `config`. */
  const values = new Map<string, GivenValue>();
  /** A variable that is nearly a setting: a store elsewhere would be no small mistake. */
  const problems: SettingProblem[] = [];
  /** A variable that looks like ours, but may have another purpose. */
  const warnings: string[] = [];
  for (const [variable, value] of Object.entries(variables)) {
    if (!variable.startsWith(prefix) || !value || isServiceLink(variable, value)) continue;
    const known = byVariable.get(variable);
    if (known !== undefined) {
      values.set(known, { text: value, written: variable, origin: `environment ${variable}` });
      if (isBroken(value)) problems.push({ setting: variable, problem: notUtf8 });
    }
    if (known !== undefined || otherVariables.includes(variable)) continue;
    const name = variable.slice(prefix.length).replaceAll("_", "-").toLowerCase();
    const meant = suggestName(name, names);
    if (meant === undefined) warnings.push(`${variable} is not a setting, and is ignored`);
    else {
      const problem = `is not a setting; did you mean ${variableOf(program, meant)}?`;
      problems.push({ setting: variable, problem });
    }
  }
  // No child process needs to inherit a secret.
  for (const { name, setting } of entries) {
    if (setting.secret === "whole") delete variables[variableOf(program, name)];
  }
  return { values, problems, warnings };
}

/** Whether Node has replaced bytes that are not UTF-8 in an argument or a variable. */
export const isBroken = (text: string) => text.includes("\ufffd");

export const notUtf8 = "is not valid UTF-8 (or has U+FFFD); rename what it names";

/** Variables that Kubernetes and container links set for services whose name begins with the program's. */
function isServiceLink(variable: string, value: string): boolean {
  return (
    /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(variable) ||
    (variable.endsWith("_PORT") && /^(tcp|udp|sctp):\/\//.test(value))
  );
}

/** The known name that a misspelt one was meant to be, if one is near. In kebab-case. */
export function suggestName(misspelt: string, known: readonly string[]): string | undefined {
  const wanted = misspelt.slice(0, lengthMax);
  const isNear = (name: string, distance: number) =>
    distance <= Math.max(1, Math.min(3, Math.floor(name.length / 3)));
  return known
    .map((name) => ({ name, distance: distanceOf(wanted, name) }))
    .filter(({ name, distance }) => isNear(name, distance))
    .sort((one, other) => one.distance - other.distance)[0]?.name;
}

/** Longer than any name; bounds the work. */
const lengthMax = 64;

/** Words in another order are as near as in the right one: `body-max-bytes`. */
function distanceOf(one: string, other: string): number {
  const sorted = (name: string) => name.split("-").sort().join("-");
  return Math.min(editDistance(one, other), editDistance(sorted(one), sorted(other)));
}

/** How many letters to insert, delete, replace or swap with their neighbour. */
function editDistance(one: string, other: string): number {
  const rows: number[][] = [];
  for (let i = 0; i <= one.length; i++) {
    const row: number[] = [];
    rows.push(row);
    for (let j = 0; j <= other.length; j++) {
      const at = (up: number, left: number) => rows[i - up]?.[j - left] ?? Number.POSITIVE_INFINITY;
      const isSwapped = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      const ways = [at(0, 1) + 1, at(1, 0) + 1, at(1, 1) + Number(one[i - 1] !== other[j - 1])];
      if (isSwapped) ways.push(at(2, 2) + 1);
      row.push(i + j === 0 ? 0 : Math.min(...ways));
    }
  }
  return rows[one.length]?.[other.length] ?? 0;
}
