/** Names of tools: clients allow 64 letters, digits and underscores. */
import type { DescMethod } from "@bufbuild/protobuf";

const lengthMax = 64;

/**
 * The name of each method, by which models call it: `create_plant`. Where two methods would have one
 * name, both get that of their service, and then that of its package. The order makes no difference.
 */
export function toolNames(methods: readonly DescMethod[]): ReadonlyMap<DescMethod, string> {
  const names = new Map<DescMethod, string>();
  let rest = methods;
  for (const nameOf of forms) {
    const taken = Map.groupBy(rest, (method) => shortened(nameOf(method), method));
    for (const [name, [only, ...others]] of taken) {
      if (only !== undefined && others.length === 0) names.set(only, name);
    }
    rest = rest.filter((method) => !names.has(method));
  }
  return names;
}

const forms: readonly ((method: DescMethod) => string)[] = [
  ({ name }) => snakeCase(name),
  ({ name, parent }) => `${snakeCase(parent.name)}_${snakeCase(name)}`,
  ({ name, parent }) => `${snakeCase(parent.typeName.replaceAll(".", "_"))}_${snakeCase(name)}`,
];

/** `Create plant` for `CreatePlant`. */
export function titleOf({ name }: DescMethod): string {
  const words = snakeCase(name).replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function snakeCase(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, "$1_$2")
    .toLowerCase();
}

/** A name that is too long ends with a hash of the method's full name. */
function shortened(name: string, { name: method, parent }: DescMethod): string {
  if (name.length <= lengthMax) return name;
  const hash = fnv1a(`${parent.typeName}/${method}`).toString(16).padStart(8, "0");
  return `${name.slice(0, lengthMax - hash.length - 1)}_${hash}`;
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  }
  return hash;
}
