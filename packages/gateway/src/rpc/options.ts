/** A timer over this fires at once. Nobody waits longer than these 24.8 days. */
export const timerMaxMs = 2 ** 31 - 1;

type Kind = "boolean" | "number" | "string" | "function" | "object" | "list";

/** The type of an option: a type of JavaScript, `list` for an array, or a set of texts. */
export type OptionKinds = Readonly<Record<string, Kind | readonly string[]>>;

/** The kinds of all options of a type. */
export type OptionKindsOf<T> = Readonly<Record<keyof T, OptionKinds[string]>>;

type Words<S> = S extends `${infer First} ${infer Rest}` ? First | Words<Rest> : S;

type Only<Name> = [Name] extends [never] ? unknown : { readonly misnamed: Name };

/** The same, from the names of each kind: `{ string: "host path", number: "port" }`. */
export function optionKinds<T>() {
  return <const K extends { readonly [kind in Kind]?: string }>(
    names: K & Only<Exclude<keyof T, Words<K[keyof K]>> | Exclude<Words<K[keyof K]>, keyof T>>,
  ): Readonly<Record<keyof T, Kind>> =>
    Object.fromEntries(
      Object.entries(names as Record<Kind, string>).flatMap(([kind, all]) =>
        all.split(" ").map((name) => [name, kind]),
      ),
    ) as Record<keyof T, Kind>;
}

/**
 * Asserts that all options are known and have the right type, and that none without a default is
 * missing: one of another type would fail during a call. @throws {TypeError}
 */
export function assertOptions(
  where: string,
  given: unknown,
  kinds: OptionKinds,
  required: readonly string[] = [],
): void {
  if (kindOf(given) !== "object") throw new TypeError(`${where} must be an object`);
  for (const [name, value] of Object.entries(given as object)) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    if (kind === undefined) {
      const known = Object.keys(kinds).join(", ");
      throw new TypeError(`${where}.${name} is no option; the options are ${known}`);
    }
    if (value === undefined || kindOf(value) === kind) continue;
    if (typeof kind !== "string") {
      if (kind.includes(value)) continue;
      throw new TypeError(`${where}.${name} must be one of ${kind.join(", ")}: ${String(value)}`);
    }
    throw new TypeError(
      `${where}.${name} must be ${kind === "object" ? "an" : "a"} ${kind}: ${String(value)}`,
    );
  }
  const missing = required.find((name) => (given as Record<string, unknown>)[name] === undefined);
  if (missing !== undefined) throw new TypeError(`${where}.${missing} is missing`);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "list";
  if (Number.isNaN(value)) return "NaN";
  return value === null ? "null" : typeof value;
}

/** Removes members that are undefined, because they would replace defaults. */
export function definedOnly<T extends object>(
  values: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as never;
}
