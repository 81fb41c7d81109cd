import { type Named, variableOf } from "./program.ts";
import type { SettingProblem } from "./settings-error.ts";
import { suggestName } from "./suggestion.ts";

export interface Environment {
  /** By the names of the settings, and `config`. */
  readonly values: ReadonlyMap<string, string>;
  /** A variable that is nearly a setting: a store elsewhere would be no small mistake. */
  readonly problems: readonly SettingProblem[];
  /** A variable that looks like ours; somebody may have it for a reason of their own. */
  readonly warnings: readonly string[];
}

/**
 * Takes the settings out of the environment. A variable that is set to nothing
 * is not set: what compose files make of a missing value.
 */
export function takeEnvironment(program: Named, variables: NodeJS.ProcessEnv): Environment {
  const { entries, otherVariables, variablePrefix: prefix } = program;
  const names = [...entries.map(({ name }) => name), "config"];
  const byVariable = new Map(names.map((name) => [variableOf(program, name), name]));
  const values = new Map<string, string>();
  const problems: SettingProblem[] = [];
  const warnings: string[] = [];
  for (const [variable, value] of Object.entries(variables)) {
    if (!variable.startsWith(prefix) || !value || isServiceLink(variable, value)) continue;
    const known = byVariable.get(variable);
    if (known !== undefined) values.set(known, value);
    if (known !== undefined || otherVariables.includes(variable)) continue;
    const name = variable.slice(prefix.length).replaceAll("_", "-").toLowerCase();
    const meant = suggestName(name, names);
    if (meant === undefined) {
      warnings.push(`${variable} is not a setting, and is ignored`);
    } else {
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

/** What Kubernetes and container links set beside a service whose name begins with the program's. */
function isServiceLink(variable: string, value: string): boolean {
  return (
    /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(variable) ||
    (variable.endsWith("_PORT") && /^(tcp|udp|sctp):\/\//.test(value))
  );
}
