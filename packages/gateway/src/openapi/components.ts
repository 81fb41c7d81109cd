/** What the document refers to under `#/components/schemas`. */
import type { JsonObject } from "./json-object.ts";
import { chooseNames, type Named } from "./names.ts";

/** One schema with a name of its own. */
export interface Component extends Named {
  /** Of a message that requests and answers show in different ways: which of them it is. */
  readonly twin: "request" | "response" | undefined;
  /** What it is called after, of a message that options of its service show in another way. */
  readonly variant?: string | undefined;
}

/**
 * Schemas, gathered as they are referred to. Which names they can have is known only
 * when all are: so a document is made twice, the second time with the names that the
 * first one has led to.
 */
export class Components {
  readonly schemas: { [name: string]: JsonObject } = {};
  readonly #all = new Map<string, Component>();
  readonly #names: ReadonlyMap<string, string>;

  constructor(names: ReadonlyMap<string, string> = new Map()) {
    this.#names = names;
  }

  /** A reference to a schema, which is made when it is first referred to. */
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

  /** Whether a schema has that full name. */
  has(full: string): boolean {
    return [...this.#all.values()].some((component) => component.full === full);
  }

  /** The names for all that was referred to. */
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
