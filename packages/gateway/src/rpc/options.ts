/** A timer over this fires at once. Nobody waits longer than these 24.8 days. */
export const timerMaxMs = 2 ** 31 - 1;

type Value = "string" | "function" | "object";
type Numeric = "number from 0" | "positive number" | "whole number from 1 to 2^31 - 1";
/** The type of an option, or a set of texts: `one of full, plain`. */
type Kind = "boolean" | Value | Numeric | `list of ${Value}s` | `one of ${string}`;

export type OptionKinds = Readonly<Record<string, Kind>>;

/** The kinds of all options of a type. */
export type OptionKindsOf<T> = Readonly<Record<keyof T, Kind>>;

type Words<S> = S extends `${infer First} ${infer Rest}` ? First | Words<Rest> : S;

type Only<Name> = [Name] extends [never] ? unknown : { readonly misnamed: Name };

/** The same, from the names of each kind: `{ string: "host path", boolean: "reusePort" }`. */
export function optionKinds<T>() {
  return <const K extends { readonly [kind in Kind]?: string }>(
    names: K & Only<Exclude<keyof T, Words<K[keyof K]>> | Exclude<Words<K[keyof K]>, keyof T>>,
  ): OptionKindsOf<T> =>
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
    if (value === undefined || isOfKind(value, kind)) continue;
    const article = kind.startsWith("one of ") ? "" : kind === "object" ? "an " : "a ";
    throw new TypeError(`${where}.${name} must be ${article}${kind}: ${String(value)}`);
  }
  const missing = required.find((name) => (given as Record<string, unknown>)[name] === undefined);
  if (missing !== undefined) throw new TypeError(`${where}.${missing} is missing`);
}

/** Asserts that paths can begin with a text: `/api`, or nothing. @throws {TypeError} */
export function assertPathPrefix(where: string, prefix: string): void {
  if (/^(?:\/[^/?#\s]+)*$/.test(prefix)) return;
  throw new TypeError(`${where} must be like /api: ${prefix}`);
}

function isOfKind(value: unknown, kind: Kind): boolean {
  const [, texts] = kind.split("one of ");
  if (texts !== undefined) return texts.split(", ").includes(value as string);
  if (value === 0) return kind === "number from 0";
  if (typeof value === "number") {
    const isWhole = Number.isInteger(value) && value <= timerMaxMs;
    return value > 0 && kind.includes("number") && (isWhole || !kind.startsWith("whole"));
  }
  if (Array.isArray(value)) {
    return kind.startsWith("list") && value.every((one) => kind === `list of ${kindOf(one)}s`);
  }
  return kindOf(value) === kind;
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "list";
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
