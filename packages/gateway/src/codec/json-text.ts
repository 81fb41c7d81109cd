/** Parses JSON text without losing anything that ProtoJSON distinguishes. */
import { EscapedKeys, type Token } from "./escaped-keys.ts";
import { type ExactJson, isJsonObject, JsonNumber } from "./json-value.ts";

/** The bytes are not a JSON text that can be parsed without loss. The message is a predicate. */
export class JsonTextError extends Error {
  override readonly name = "JsonTextError";
}

/** protobuf's own limit is 100 messages, each of which may be in a list or map of its own. */
const depthMax = 200;

/**
 * Every integer of up to 15 digits is exact as a double. Those with 16 digits are exact up to 2^53.
 */
const exactDigitsMax = 15;
const safeLengthMax = 17;

// ignoreBOM keeps a leading U+FEFF in the text, which JSON.parse then rejects.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Parses a JSON text (RFC 8259).
 *
 * @param bytes The text in UTF-8. Invalid UTF-8 is rejected, never replaced.
 * @param valuesMax The maximum number of values, at every depth. Default: no limit.
 * @throws {JsonTextError} for anything but one JSON value; for an object with a duplicate member;
 * for more than 200 levels of nesting or more than `valuesMax` values, before anything is created
 * from them.
 */
export function parseJsonText(
  bytes: Uint8Array,
  valuesMax: number = Number.POSITIVE_INFINITY,
): ExactJson {
  const text = decodeUtf8(bytes);
  const { members, exact, escapedKeys } = scanText(text, valuesMax);
  const reviver = exact ? undefined : keepDigits;
  const value =
    escapedKeys.length === 0
      ? parseText(text, reviver)
      : parseTextWithEscapedKeys(text, escapedKeys, reviver);
  if (countMembers(value) < members) throw duplicateIn(text);
  return value;
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new JsonTextError("is not valid UTF-8");
  }
}

type Reviver = typeof keepDigits | undefined;

function parseText(text: string, reviver: Reviver): ExactJson {
  try {
    return parse(text, reviver);
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? cause.message : "it cannot be read";
    throw new JsonTextError(`is not valid JSON: ${reason}`, { cause });
  }
}

function parseTextWithEscapedKeys(
  text: string,
  keys: readonly Token[],
  reviver: Reviver,
): ExactJson {
  try {
    const escaped = new EscapedKeys(text, keys);
    return escaped.restore(parse(escaped.text, reviver));
  } catch (cause) {
    // The reason would quote the rewritten text, which the client did not send.
    throw new JsonTextError("is not valid JSON", { cause });
  }
}

function parse(text: string, reviver: Reviver): ExactJson {
  // The types of JSON.parse do not know the reviver's third argument yet.
  return JSON.parse(text, reviver as (key: string, value: unknown) => unknown);
}

function keepDigits(_key: string, value: ExactJson, context: { source?: string }): ExactJson {
  if (typeof value !== "number" || context.source === undefined) return value;
  return String(value) === context.source ? value : new JsonNumber(context.source);
}

interface Scan {
  readonly members: number;
  readonly exact: boolean;
  readonly escapedKeys: readonly Token[];
}

/**
 * Finds what `JSON.parse` silently accepts or misreads: depth, the number of values, numbers that a
 * double may not hold, the number of members (it keeps one of several duplicates), and keys with
 * escapes.
 *
 * @param text Any text. For text that is not JSON, the result means nothing, and the scan stops as
 * soon as that is clear.
 */
function scanText(text: string, valuesMax: number): Scan {
  const hasEscapes = text.includes("\\");
  const escapedKeys: Token[] = [];
  let string: Token | undefined;
  let depth = 0;
  let members = 0;
  let commas = 0;
  let valuesAndKeys = 0;
  let exact = true;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x20:
      case 0x09: // tab
      case 0x0a: // line feed
      case 0x0d: // carriage return
        i = endOf(whiteSpace, text, i) - 1;
        continue;
      case 0x22: {
        // "
        valuesAndKeys++;
        const end = endOfString(text, i);
        if (hasEscapes) string = { start: i, end: end + 1 };
        i = end;
        break;
      }
      case 0x3a: // :
        members++;
        if (string !== undefined && text.slice(string.start, string.end).includes("\\")) {
          escapedKeys.push(string);
        }
        string = undefined;
        break;
      case 0x2c: // ,
        commas++;
        break;
      case 0x66: // false
        valuesAndKeys++;
        i += 4;
        break;
      case 0x6e: // null
      case 0x74: // true
        valuesAndKeys++;
        i += 3;
        break;
      case 0x7b: // {
      case 0x5b: // [
        valuesAndKeys++;
        if (++depth > depthMax) throw new JsonTextError(`nests deeper than ${depthMax} levels`);
        break;
      case 0x7d: // }
      case 0x5d: // ]
        if (--depth < 0) return { members, exact, escapedKeys };
        break;
      default: {
        const end = endOf(numberCharacters, text, i);
        if (end === i) return { members, exact, escapedKeys }; // not JSON
        valuesAndKeys++;
        exact &&= isExactInteger(text.slice(i, end));
        i = end - 1;
      }
    }
    // Check all three, because text that is not JSON may have any number of colons and commas.
    if (valuesAndKeys - members > valuesMax || members > valuesMax || commas > valuesMax) {
      throw new JsonTextError(`has more than ${valuesMax} values`);
    }
  }
  return { members, exact, escapedKeys };
}

function countMembers(json: ExactJson): number {
  if (typeof json !== "object" || json === null) return 0;
  let count = 0;
  if (Array.isArray(json)) {
    for (const item of json) count += countMembers(item);
  } else if (isJsonObject(json)) {
    for (const key of Object.keys(json)) count += 1 + countMembers(json[key] ?? null);
  }
  return count;
}

/** Finds the first member that its object already has. */
function duplicateIn(text: string): JsonTextError {
  const open: (Set<string> | undefined)[] = [];
  let atKey = false;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x22: {
        const start = i;
        i = endOfString(text, start);
        if (!atKey) break;
        atKey = false;
        const token = text.slice(start, i + 1);
        const key = JSON.parse(token);
        if (open.at(-1)?.has(key)) {
          return new JsonTextError(`has ${token} twice in one JSON object`);
        }
        open.at(-1)?.add(key);
        break;
      }
      case 0x7b: // {
        open.push(new Set());
        atKey = true;
        break;
      case 0x5b: // [
        open.push(undefined);
        break;
      case 0x7d: // }
      case 0x5d: // ]
        open.pop();
        atKey = false;
        break;
      case 0x2c: // ,
        atKey = open.at(-1) !== undefined;
        break;
    }
  }
  return new JsonTextError("has a member twice in one JSON object");
}

/** The index of the quote that ends the string whose first quote is at `start`, or past the text. */
function endOfString(text: string, start: number): number {
  // Several times as fast as looking at every character, which only strings with escapes need.
  const quote = text.indexOf('"', start + 1);
  if (quote === -1) return text.length;
  if (text.charCodeAt(quote - 1) !== 0x5c) return quote;
  let i = start + 1;
  for (; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22) break;
    if (c === 0x5c) i++;
  }
  return i;
}

const whiteSpace = /[ \t\n\r]+/y;
const numberCharacters = /[-0-9][-+.0-9Ee]*/y;

/**
 * The index after the match of the sticky expression at `start`, or `start` if it does not match.
 */
function endOf(expression: RegExp, text: string, start: number): number {
  expression.lastIndex = start;
  return expression.test(text) ? expression.lastIndex : start;
}

const integer = /^-?[0-9]+$/;

function isExactInteger(token: string): boolean {
  if (token.length > safeLengthMax) return false;
  if (token.length > exactDigitsMax && !Number.isSafeInteger(Number(token))) return false;
  return integer.test(token) && token !== "-0";
}
