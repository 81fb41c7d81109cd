/** What the document refers to under `#/components/schemas`. */
import type { JsonObject } from "./json-object.ts";
import { chooseNames, type Named } from "./names.ts";

/** One schema with a name of its own. */
export interface Component extends Named {
  /** Of a message that requests and answers show in different ways: which of them it is. */
  readonly twin: "request" | "response" | undefined;
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
    const entries = [...this.#all].map(([key, component]) => {
      const { full, short, twin } = component;
      const isInput =
        twin === "request" && this.#all.has(keyOf({ ...component, twin: "response" }));
      const named = isInput ? { full: `${full}-Input`, short: `${short}Input` } : { full, short };
      return { key, named };
    });
    const names = chooseNames(entries.map(({ named }) => named));
    return new Map(entries.map(({ key, named }) => [key, names.get(named.full) ?? named.full]));
  }
}

function keyOf({ full, twin }: Component): string {
  return twin === undefined ? full : `${full}-${twin}`;
}
