type Kind = "boolean" | "number" | "string" | "function" | "object" | "list";

/** What the values of options are: of a kind, where a list is an array, or one of few texts. */
export type OptionKinds = Readonly<Record<string, Kind | readonly string[]>>;

/** Those of all options of a type. */
export type OptionKindsOf<T> = Readonly<Record<keyof T, OptionKinds[string]>>;

/**
 * Asserts that all options are known, and of their kinds: one that is misspelled would be passed
 * over, one of another kind would fail amid a call. Undefined stands for the default.
 *
 * @param where What holds them, as `rest`.
 * @throws {TypeError}
 */
export function assertOptions(where: string, given: unknown, kinds: OptionKinds): void {
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
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "list";
  return value === null ? "null" : typeof value;
}

/** The same without members that are undefined, which would take the place of defaults. */
export function definedOnly<T extends object>(
  values: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as never;
}
