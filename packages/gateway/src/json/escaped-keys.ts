import { randomUUID } from "node:crypto";
import { type ExactJson, isJsonObject } from "./value.ts";

/** A string of a JSON text, with its quotes: `[start, end)`. */
export interface Token {
  readonly start: number;
  readonly end: number;
}

/**
 * Keeps keys with escapes from `JSON.parse`. That of V8 14 may take one for the key that an earlier
 * text had in its place, if that one had a backslash (https://github.com/nodejs/node/issues/63785):
 * once someone has sent `{"ta\\": 1}`, `{"ta\u0067": "herb"}` has no `tag` any more.
 *
 * A key that needs no escapes is written without them; another gets a name, until the text is read.
 */
export class EscapedKeys {
  /** The same JSON text, in which no key has an escape. */
  readonly text: string;
  /** How names begin that stand for keys: as no key of anyone's. */
  readonly #prefix = randomUUID();
  readonly #names = new Map<string, string>();
  readonly #keys = new Map<string, string>();

  /** @throws {SyntaxError} for a key that is no JSON string. */
  constructor(text: string, keys: readonly Token[]) {
    const pieces: string[] = [];
    let copied = 0;
    for (const { start, end } of keys) {
      pieces.push(text.slice(copied, start), this.#plain(text.slice(start, end)));
      copied = end;
    }
    this.text = pieces.join("") + text.slice(copied);
  }

  /** Gives the keys their own names again. */
  restore(json: ExactJson): ExactJson {
    if (this.#keys.size === 0) return json;
    if (Array.isArray(json)) return json.map((item) => this.restore(item));
    if (!isJsonObject(json)) return json;
    return Object.fromEntries(
      Object.entries(json).map(([name, value]) => [
        this.#keys.get(name) ?? name,
        this.restore(value),
      ]),
    );
  }

  #plain(token: string): string {
    const key: string = JSON.parse(token);
    const plain = JSON.stringify(key);
    if (!plain.includes("\\")) return plain;
    const name = this.#names.get(key) ?? `${this.#prefix}${this.#names.size}`;
    this.#names.set(key, name);
    this.#keys.set(name, key);
    return `"${name}"`;
  }
}
