/** The schemas under `#/components/schemas` that the document refers to. */
import type { JsonObject } from "./json-object.ts";
import { chooseNames, type Named } from "./names.ts";

/** A schema with its own name. */
export interface Component extends Named {
  /** Set if requests and answers have different schemas for a message: which of them this is. */
  readonly twin: "request" | "response" | undefined;
  /** The name of the service, if its options change the schema of the message. */
  readonly variant?: string | undefined;
}

/**
 * Collects schemas as they are referred to. Their names can be chosen only when all are known, so a
 * document is created twice, the second time with the names from the first.
 */
export class Components {
  readonly schemas: { [name: string]: JsonObject } = {};
  readonly #all = new Map<string, Component>();
  readonly #names: ReadonlyMap<string, string>;

  constructor(names: ReadonlyMap<string, string> = new Map()) {
    this.#names = names;
  }

  /** A reference to a schema, which is created on the first reference. */
  refer(component: Component, create: () => JsonObject): JsonObject {
    const key = keyOf(component);
    const name = this.#names.get(key) ?? key;
    if (!this.#all.has(key)) {
      this.#all.set(key, component);
      this.schemas[name] = {}; // a message may contain itself
      Object.assign(this.schemas[name] ?? {}, create());
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  /** Whether a schema with this full name exists. */
  has(full: string): boolean {
    return [...this.#all.values()].some((component) => component.full === full);
  }

  /** The names for all referenced schemas. */
  chooseNames(): ReadonlyMap<string, string> {
    const entries = [...this.#all].map(([key, component]) => ({
      key,
      named: this.#nameOf(component),
    }));
    const names = chooseNames(entries.map(({ named }) => named));
    return new Map(entries.map(({ key, named }) => [key, names.get(named.full) ?? named.full]));
  }

  #nameOf({ full, short, twin, variant = "" }: Component): Named {
    const others = [...this.#all.values()].filter((one) => one.full === full);
    const hasAnswer = others.some((one) => one.twin === "response");
    const isAlone = others.filter((one) => one.twin === twin).length === 1;
    const suffixes = [twin === "request" && hasAnswer ? "Input" : "", isAlone ? "" : variant];
    const left = suffixes.filter((suffix) => suffix !== "");
    return { full: [full, ...left].join("-"), short: [short, ...left].join("") };
  }
}

function keyOf({ full, twin, variant }: Component): string {
  return [full, twin, variant].filter((part) => part !== undefined).join("-");
}
