export type JsonObject = { [key: string]: unknown };

/** The members for a description and for `deprecated`: none if there is nothing to say. */
export function describe(description: string, isDeprecated = false): JsonObject {
  return { ...(description !== "" && { description }), ...(isDeprecated && { deprecated: true }) };
}

export function joined(...notes: readonly (string | undefined)[]): string {
  return notes.filter(Boolean).join(" ");
}

export function mapValues<T, U>(
  values: { readonly [key: string]: T },
  map: (value: T, key: string) => U,
): { [key: string]: U } {
  return Object.fromEntries(Object.entries(values).map(([key, one]) => [key, map(one, key)]));
}

/** Short names, or full ones: those of protobuf, which are unique. */
export type NameStyle = "short" | "full";

export interface Named {
  /** Unique among all full names. */
  readonly full: string;
  readonly short: string;
}

export type Names = ReturnType<typeof createNames>;

/** A name depends on nothing but what it names: another service in the document changes none. */
export function createNames(style: NameStyle) {
  const fullNames = new Map<string, string>();
  return {
    /** @throws {Error} if another one has the name. */
    nameOf(named: Named): string {
      const name = named[style];
      const other = fullNames.get(name) ?? named.full;
      if (other !== named.full) {
        throw new Error(`${other} and ${named.full} are both ${name}; set names: "full"`);
      }
      fullNames.set(name, named.full);
      return name;
    },
    has: (full: string) => [...fullNames.values()].includes(full),
  };
}

export type Components = ReturnType<typeof createComponents>;

/** @param base Of the schemas. @param isTyped Whether references say the type, for readers that follow none. */
export function createComponents(style: NameStyle, base = "#/components/schemas", isTyped = false) {
  const schemas: { [name: string]: JsonObject } = Object.create(null);
  const names = createNames(style);
  return {
    schemas,
    /** A reference to a schema, which is created on the first reference. */
    refer(named: Named, create: () => JsonObject): JsonObject {
      const name = names.nameOf(named);
      if (schemas[name] === undefined) {
        schemas[name] = {}; // a message may contain itself
        try {
          Object.assign(schemas[name], create());
        } catch (error) {
          const all = Object.keys(schemas); // later ones may refer to it
          for (const one of all.slice(all.indexOf(name))) delete schemas[one];
          throw error;
        }
      }
      const { type } = schemas[name] ?? {};
      return { ...(isTyped && type !== undefined && { type }), $ref: `${base}/${name}` };
    },
    has: (full: string) => ["", "-Input", "-Output"].some((suffix) => names.has(full + suffix)),
  };
}
