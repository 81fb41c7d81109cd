import { type ExactJson, isJsonObject } from "./json-value.ts";

/** A string of a JSON text, with its quotes: `[start, end)`. */
export interface Token {
  readonly start: number;
  readonly end: number;
}

/**
 * Protects keys with escapes from `JSON.parse`. V8 14 may confuse such a key with one that an
 * earlier text had in its place, if that one had a backslash
 * (https://github.com/nodejs/node/issues/63785). After someone has sent `{"ta\\": 1}`,
 * `{"ta\u0067": "herb"}` loses its `tag`.
 *
 * Keys that need no escapes are written without them. Others get a placeholder until the text is
 * parsed.
 */
export class EscapedKeys {
  /** The same JSON text, without escapes in keys. */
  readonly text: string;
  /** Prefix of the placeholders. Random, so that no client's key has it. */
  readonly #prefix = crypto.randomUUID();
  readonly #names = new Map<string, string>();
  readonly #keys = new Map<string, string>();

  /** @throws {SyntaxError} if a key is not a JSON string. */
  constructor(text: string, keys: readonly Token[]) {
    const pieces: string[] = [];
    let copied = 0;
    for (const { start, end } of keys) {
      pieces.push(text.slice(copied, start), this.#plain(text.slice(start, end)));
      copied = end;
    }
    this.text = pieces.join("") + text.slice(copied);
  }

  /** Restores the original keys. */
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
