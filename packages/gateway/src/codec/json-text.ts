/** Parses JSON text without losing anything that ProtoJSON distinguishes. */
import type { JsonValue } from "@bufbuild/protobuf";
import { countValues, memberValues, smallObjectMax } from "./decode.ts";
import { FieldViolation } from "./violation.ts";

/** A number as written, where a double might differ from it: 9007199254740993, for example. */
export class JsonNumber {
  /** The token, in the number syntax of RFC 8259 section 6. */
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** A JSON value whose numbers are exact: a double, or the digits as written. */
export type ExactJson =
  | null
  | boolean
  | number
  | string
  | JsonNumber
  | ExactJson[]
  | { [key: string]: ExactJson };

/** protobuf's own limit is 100 messages, each of which may be in a list or map of its own. */
const depthMax = 200;

// ignoreBOM keeps a leading U+FEFF in the text, which is then rejected.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Parses a JSON text (RFC 8259). `JSON.parse` would round numbers and keep the last of several
 * members with the same name. It may also confuse a key that has escapes with one of an earlier
 * text (https://github.com/nodejs/node/issues/63785): after someone has sent `{"ta\\": 1}`,
 * `{"ta\u0067": "herb"}` loses its `tag`.
 * @throws {FieldViolation} for anything but one JSON value in UTF-8, a duplicate member, or more
 * than 200 levels; as `countValues`.
 */
export function parseJsonText(bytes: Uint8Array): ExactJson {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new FieldViolation("", "is not valid UTF-8");
  }
  return new Parser(text).parse();
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

const numberToken = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;

/** Characters that need a closer look: escapes, and invalid ones. */
const unusual = /[^ -[\]-\uffff]/;

/** V8 keeps a text for as long as a slice of it. A longer one is not worth a short string. */
const keptTextMax = 256;

/** A shorter one is a copy: V8's `SlicedString::kMinLength`. Seen with JavaScriptCore, too. */
const sliceLengthMin = 13;

class Parser {
  readonly #text: string;
  #at = 0;
  #depth = 0;
  /** The first member that its object already has, as written. */
  #duplicate: string | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): ExactJson {
    const value = this.#value();
    if (!Number.isNaN(this.#next())) this.#fail();
    if (this.#duplicate === undefined) return value;
    throw new FieldViolation("", `has ${this.#duplicate} twice in one JSON object`);
  }

  #value(): ExactJson {
    countValues(1);
    switch (this.#next()) {
      case quote:
        return this.#string();
      case openBrace:
        return this.#object();
      case openBracket:
        return this.#array();
      case 0x6e:
        return this.#word("null", null);
      case 0x74:
        return this.#word("true", true);
      case 0x66:
        return this.#word("false", false);
      default:
        return this.#number();
    }
  }

  #object(): ExactJson {
    const object: { [key: string]: ExactJson } = {};
    if (this.#isEmpty(closeBrace)) return object;
    let members = 0;
    do {
      if (++members > smallObjectMax) countValues(memberValues);
      if (this.#next() !== quote) this.#fail();
      const start = this.#at;
      const key = this.#string();
      if (Object.hasOwn(object, key)) this.#duplicate ??= this.#text.slice(start, this.#at);
      if (this.#next() !== colon) this.#fail();
      this.#at++;
      const value = this.#value();
      if (key !== "__proto__") object[key] = value;
      else Object.defineProperty(object, key, { value, ...ownProperty });
    } while (this.#hasMore(closeBrace));
    return object;
  }

  #array(): ExactJson {
    const items: ExactJson[] = [];
    if (this.#isEmpty(closeBracket)) return items;
    do items.push(this.#value());
    while (this.#hasMore(closeBracket));
    return items;
  }

  /** Enters an object or array. If it is empty, leaves it, too. */
  #isEmpty(close: number): boolean {
    if (++this.#depth > depthMax)
      throw new FieldViolation("", `nests deeper than ${depthMax} levels`);
    this.#at++;
    return this.#next() === close && !this.#hasMore(close);
  }

  /** Whether an object or array continues with a comma. Otherwise it is left. */
  #hasMore(close: number): boolean {
    const next = this.#next();
    if (next !== comma && next !== close) this.#fail();
    this.#at++;
    if (next === close) this.#depth--;
    return next === comma;
  }

  #string(): string {
    const text = this.#text;
    const start = this.#at;
    let end = text.indexOf('"', start + 1);
    const plain = text.slice(start + 1, end);
    if (end >= 0 && !unusual.test(plain)) {
      this.#at = end + 1;
      const isPart = text.length > keptTextMax && plain.length < text.length / 2;
      const isCopied = isPart && plain.length >= sliceLengthMin;
      return isCopied ? JSON.parse(text.slice(start, end + 1)) : plain;
    }
    for (end = start + 1; end < text.length; end++) {
      const character = text.charCodeAt(end);
      if (character === quote) break;
      if (character === backslash) end++;
    }
    this.#at = end + 1;
    try {
      return JSON.parse(text.slice(start, end + 1));
    } catch {
      return this.#fail();
    }
  }

  /** A double, if that is written as JavaScript writes it. */
  #number(): ExactJson {
    numberToken.lastIndex = this.#at;
    if (!numberToken.test(this.#text)) this.#fail();
    const source = this.#text.slice(this.#at, numberToken.lastIndex);
    this.#at = numberToken.lastIndex;
    const value = Number(source);
    return String(value) === source ? value : new JsonNumber(source);
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) this.#fail();
    this.#at += word.length;
    return value;
  }

  /** The next character after white space; NaN at the end. */
  #next(): number {
    for (;;) {
      const character = this.#text.charCodeAt(this.#at);
      // Space, line feed, carriage return, tab.
      if (character !== 0x20 && character !== 0x0a && character !== 0x0d && character !== 0x09) {
        return character;
      }
      this.#at++;
    }
  }

  #fail(): never {
    let cause: unknown;
    try {
      JSON.parse(this.#text); // only to say why
    } catch (error) {
      cause = error;
    }
    const reason = cause instanceof SyntaxError ? cause.message : "it cannot be read";
    throw new FieldViolation("", `is not valid JSON: ${reason}`, { cause });
  }
}

const ownProperty = { enumerable: true, configurable: true, writable: true };

/** Whether it is a JSON object, and neither an array nor a number that is kept as written. */
export function isJsonObject<T>(json: T): json is Extract<T, { [key: string]: unknown }> {
  const isOne = typeof json === "object" && !Array.isArray(json);
  return isOne && json !== null && !(json instanceof JsonNumber);
}

/** JSON that `JSON.stringify` writes unchanged, for numbers that it would change. */
export function rawJson(text: string): JsonValue {
  // ES2026; not yet in the library's types.
  return (JSON as unknown as { rawJSON(text: string): JsonValue }).rawJSON(text);
}
