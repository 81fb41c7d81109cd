/** Names of tools: clients allow 64 letters, digits and underscores. */
import type { DescMethod } from "@bufbuild/protobuf";

const lengthMax = 64;

/**
 * The name of each method, by which models call it: `create_plant`. Where two methods would have one
 * name, both get that of their service, and then that of its package. The order makes no difference.
 */
export function toolNames(methods: readonly DescMethod[]): ReadonlyMap<DescMethod, string> {
  const names = new Map<DescMethod, string>();
  for (const length of [0, 1, 2]) {
    const rest = methods.filter((method) => !names.has(method));
    const taken = Map.groupBy(rest, (method) => {
      const { name, parent } = method;
      const full = [name, `${parent.name}_${name}`, `${parent.typeName}_${name}`][length] ?? name;
      return shortened(snakeCase(full.replaceAll(".", "_")), method);
    });
    for (const [name, [only, ...others]] of taken) {
      if (only !== undefined && others.length === 0) names.set(only, name);
    }
  }
  return names;
}

/** `Create plant` for `CreatePlant`. */
export function titleOf({ name }: DescMethod): string {
  const words = snakeCase(name).replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function snakeCase(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, "_").toLowerCase();
}

/** A name that is too long ends with a hash (FNV-1a) of the method's full name. */
function shortened(name: string, { name: method, parent }: DescMethod): string {
  if (name.length <= lengthMax) return name;
  let hash = 0x811c9dc5;
  for (const character of `${parent.typeName}/${method}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  return `${name.slice(0, lengthMax - 9)}_${hash.toString(16).padStart(8, "0")}`;
}
