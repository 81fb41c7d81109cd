import { schemaEntries } from "../../server/settings/schema.ts";
import { variableOf, variablePrefix } from "./origin.ts";
import { suggestName } from "./suggestion.ts";

export interface Environment {
  /** By the names of the settings, and `config`. */
  readonly values: ReadonlyMap<string, string>;
  /** A variable that is nearly a setting: a store elsewhere would be no small mistake. */
  readonly problems: readonly string[];
  /** A variable that looks like ours; somebody may have it for a reason of their own. */
  readonly warnings: readonly string[];
}

/**
 * Takes the settings out of the environment. A variable that is set to nothing
 * is not set: what compose files make of a missing value.
 */
export function takeEnvironment(variables: NodeJS.ProcessEnv): Environment {
  const values = new Map<string, string>();
  for (const name of names) {
    const value = variables[variableOf(name)];
    if (value) values.set(name, value);
  }
  const problems: string[] = [];
  const warnings: string[] = [];
  for (const [variable, value] of Object.entries(variables)) {
    if (!variable.startsWith(variablePrefix) || !value) continue;
    if (knownVariables.has(variable) || isServiceLink(variable, value)) continue;
    const name = variable.slice(variablePrefix.length).replaceAll("_", "-").toLowerCase();
    const meant = suggestName(name, names);
    if (meant === undefined) warnings.push(`${variable} is not a setting, and is ignored`);
    else problems.push(`${variable} is not a setting; did you mean ${variableOf(meant)}?`);
  }
  // No child process needs to inherit a secret.
  for (const { name, setting } of schemaEntries) {
    if (setting.secret === "whole") delete variables[variableOf(name)];
  }
  return { values, problems, warnings };
}

const names = [...schemaEntries.map(({ name }) => name), "config"];

/** Of those who call a server, and may run one in the same shell. */
const clientVariables = ["PLANT_STORE_URL", "PLANT_STORE_TOKEN"];
const knownVariables = new Set([...names.map(variableOf), ...clientVariables]);

/** What Kubernetes and container links set beside a service whose name begins with plant-store. */
function isServiceLink(variable: string, value: string): boolean {
  return (
    /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(variable) ||
    (variable.endsWith("_PORT") && /^(tcp|udp|sctp):\/\//.test(value))
  );
}
