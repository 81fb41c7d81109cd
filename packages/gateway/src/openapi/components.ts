export type JsonObject = { [key: string]: unknown };

/** The members for a description and for `deprecated`: none if there is nothing to say. */
export function describe(description: string, isDeprecated = false): JsonObject {
  return { ...(description !== "" && { description }), ...(isDeprecated && { deprecated: true }) };
}

/** Short names, or full ones: those of protobuf, which are unique. */
export type NameStyle = "short" | "full";

export interface Named {
  /** Unique among all full names. */
  readonly full: string;
  readonly short: string;
}

/** A name depends on nothing but what it names: another service in the document changes none. */
export class Names {
  readonly #style: NameStyle;
  readonly #fullNames = new Map<string, string>();

  constructor(style: NameStyle) {
    this.#style = style;
  }

  /** @throws {Error} if another one has the name. */
  nameOf(named: Named): string {
    const name = named[this.#style];
    const other = this.#fullNames.get(name) ?? named.full;
    if (other !== named.full) {
      throw new Error(`${other} and ${named.full} are both ${name}; set names: "full"`);
    }
    this.#fullNames.set(name, named.full);
    return name;
  }

  has(full: string): boolean {
    return [...this.#fullNames.values()].includes(full);
  }
}

export class Components {
  readonly schemas: { [name: string]: JsonObject } = {};
  readonly #names: Names;
  readonly #place: string;
  readonly #isTyped: boolean;

  /** @param place Of the schemas. @param isTyped Whether references say the type, for readers that follow none. */
  constructor(style: NameStyle, place = "#/components/schemas", isTyped = false) {
    this.#names = new Names(style);
    this.#place = place;
    this.#isTyped = isTyped;
  }

  /** A reference to a schema, which is created on the first reference. */
  refer(named: Named, create: () => JsonObject): JsonObject {
    const name = this.#names.nameOf(named);
    if (this.schemas[name] === undefined) {
      const schema: JsonObject = {}; // a message may contain itself
      this.schemas[name] = schema;
      Object.assign(schema, create());
    }
    const { type } = this.schemas[name] ?? {};
    const typed = this.#isTyped && type !== undefined && { type };
    return { ...typed, $ref: `${this.#place}/${name}` };
  }

  has(full: string): boolean {
    return ["", "-Input", "-Output"].some((suffix) => this.#names.has(full + suffix));
  }
}
