/** Builds a request message from path, query and body. */
import {
  create,
  type DescField,
  type DescMessage,
  type MessageShape,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import { isReflectMessage, type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { messageFromJson, rejected, scalarOf, within } from "../../codec/json-messages.ts";
import type { JsonOptions } from "../../codec/json-scalar.ts";
import { type ExactJson, isJsonObject } from "../../codec/json-text.ts";
import { FieldViolation } from "../../codec/violation.ts";
import {
  type FieldPath,
  findField,
  findFieldPath,
  isMask,
  jsonPath,
  leafOf,
  parameterReader,
} from "../rule/field-path.ts";
import { changesIn, fillMask, type UpdateMask } from "./update-mask.ts";

type JsonObject = { [key: string]: ExactJson };

export interface RequestParts {
  readonly pathValues: readonly { readonly path: FieldPath; readonly text: string }[];
  readonly query: string;
  /** Whether to ignore an unknown parameter. Default: reject it. */
  readonly ignoresParameter?: MatchName;
  /** The field that the body sets; `*` for the whole message. */
  readonly bodyField: "*" | DescField | undefined;
  readonly body: ExactJson | undefined;
  readonly updateMask?: UpdateMask | undefined;
  readonly isPatch?: boolean;
}

/**
 * Binds the parts of a request. A body or query that contradicts the path is rejected, because it
 * would deceive whoever has authorised the path.
 * @throws {ConnectError} INVALID_ARGUMENT with a `google.rpc.BadRequest`.
 */
export function bindRequest<D extends DescMessage>(
  input: D,
  parts: RequestParts,
  options: JsonOptions,
): MessageShape<D> {
  try {
    const { bodyField, body, updateMask, isPatch = false } = parts;
    if (bodyField === undefined && (body ?? null) !== null) {
      throw new FieldViolation("", "must not have a body");
    }
    // Read before binding the path, which changes the body.
    const changes =
      updateMask && body !== undefined
        ? within(updateMask.body.jsonName, () => changesIn(updateMask, body, isPatch))
        : [];
    const isValue = hasCustomJsonRepresentation(input); // then its JSON has no place for path and query
    const tree = isValue ? {} : bodyTree(parts);
    for (const one of parseQuery(parts.query)) bindParameter(input, tree, one, parts);
    if (isValue && body === undefined) return create(input);
    for (const { path, text } of parts.pathValues) bindVariable(tree, path, text);
    const message = messageFromJson(input, isValue ? (body ?? null) : tree, options);
    if (updateMask !== undefined) fillMask(updateMask, message, changes);
    return message;
  } catch (error) {
    throw rejected(error);
  }
}

function bodyTree({ bodyField, body }: RequestParts): JsonObject {
  if (bodyField === undefined || body === undefined) return {};
  if (bodyField !== "*") return { [bodyField.jsonName]: body };
  if (!isJsonObject(body)) throw new FieldViolation("", "must be a JSON object");
  return body;
}

function bindParameter(
  input: DescMessage,
  tree: JsonObject,
  [name, raw]: Parameter,
  { bodyField, ignoresParameter }: RequestParts,
): void {
  const plain = decodePlain(raw);
  const found = findFieldPath(input, name);
  if (found === undefined) {
    if (ignoresParameter?.(name)) return;
    throw new FieldViolation(name || '[""]', "is not a known query parameter");
  }
  const { path, key } = found;
  const field = leafOf(path);
  const read = parameterReader(field);
  if (read === undefined) throw new FieldViolation(name, "is a message, which a query cannot hold");
  if (key === undefined && field.fieldKind === "map") {
    throw new FieldViolation(name, `must have a key in brackets: ${name}[key]`);
  }
  if (bodyField === "*" || bodyField === path[0]) {
    throw new FieldViolation(name, "belongs in the body, not in the query");
  }
  const holder = holderOf(tree, path);
  const existing = Object.hasOwn(holder, field.jsonName) ? holder[field.jsonName] : undefined;
  // RFC 3986 gives `+` no meaning. Forms write a space so, which only text can contain.
  const isText = scalarOf(field) === ScalarType.STRING;
  let value = within(name, () => read(isText ? decodeForm(raw) : plain));
  if (field.fieldKind === "list") {
    value = [...(Array.isArray(existing) ? existing : []), value];
  } else if (field.fieldKind === "map" && key !== undefined) {
    const entries = isJsonObject(existing) ? existing : Object.create(null);
    if (key in entries) throw new FieldViolation(name, "must be given once");
    entries[key] = value;
    value = entries;
  } else if (existing !== undefined) {
    if (!isMask(field)) throw new FieldViolation(name, "must be given once");
    value = [existing, value].filter((one) => one !== "").join(",");
  }
  setIn(holder, field.jsonName, value);
}

/** Assigns a member, whose name may be `__proto__`. */
function setIn(object: JsonObject, name: string, value: ExactJson): void {
  Object.defineProperty(object, name, {
    ...{ value, enumerable: true, writable: true, configurable: true },
  });
}

function bindVariable(tree: JsonObject, path: FieldPath, text: string): void {
  const field = leafOf(path);
  const name = jsonPath(path);
  const value = within(name, () => parameterReader(field)?.(text) ?? null); // rules name no other
  const holder = holderOf(tree, path);
  const spelling = spellingIn(holder, field);
  const said = spelling === undefined ? null : (holder[spelling] ?? null);
  if (said !== null && !saysTheSame(path, said, value)) {
    throw new FieldViolation(name, "must be what the path says, or be left out");
  }
  if (spelling !== undefined) delete holder[spelling];
  setIn(holder, field.jsonName, value);
}

function holderOf(tree: JsonObject, path: FieldPath): JsonObject {
  let holder = tree;
  for (const [depth, field] of path.slice(0, -1).entries()) {
    const spelling = spellingIn(holder, field);
    const child = spelling === undefined ? {} : (holder[spelling] ?? {});
    if (!isJsonObject(child)) {
      throw new FieldViolation(jsonPath(path.slice(0, depth + 1)), "must be a JSON object");
    }
    setIn(holder, spelling ?? field.jsonName, child);
    holder = child;
  }
  return holder;
}

/** The spelling of a field in an object: JSON accepts the proto name as well as the JSON name. */
function spellingIn(object: JsonObject, field: DescField): string | undefined {
  return [field.jsonName, field.name].find(
    (name) => Object.hasOwn(object, name) && findField(field.parent, name) === field,
  );
}

/** Whether two JSON values set a field to the same value: `"1"` and `1.0` are the same number. */
function saysTheSame(path: FieldPath, said: ExactJson, value: ExactJson): boolean {
  const input = path[0].parent;
  const [left, right] = [said, value].map((leaf) => {
    const json = path.reduceRight((inner, { jsonName }) => ({ [jsonName]: inner }), leaf);
    let read: unknown = reflect(input, messageFromJson(input, json, {}));
    for (const field of path) read = (read as ReflectMessage).get(field);
    return String(isReflectMessage(read) ? toBinary(read.desc, read.message) : read);
  });
  return left === right; // NaN is NaN
}

/** No real query has more; parsing it would only cost time. */
const parametersMax = 1000;

/** Its value is still encoded: what `+` means depends on the field. */
type Parameter = readonly [name: string, raw: string];

/** Parses a query, RFC 3986 section 3.4. @throws {FieldViolation} for what is not UTF-8. */
function parseQuery(query: string): readonly Parameter[] {
  if (query === "") return [];
  const pairs = query.split("&").filter((pair) => pair !== "");
  if (pairs.length > parametersMax) {
    throw new FieldViolation("", `must not have more than ${parametersMax} query parameters`);
  }
  return pairs.map((pair) => {
    const equals = pair.indexOf("=");
    const [name, raw] = equals < 0 ? [pair, ""] : [pair.slice(0, equals), pair.slice(equals + 1)];
    return [decodeForm(name), raw];
  });
}

/** Decodes as forms encode: `+` is a space. @throws {FieldViolation} */
function decodeForm(text: string): string {
  return decodePlain(text.replaceAll("+", " "));
}

/** Decodes as RFC 3986 encodes: `+` is a `+`. @throws {FieldViolation} */
function decodePlain(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new FieldViolation("", "has a query that is not percent-encoded UTF-8", { cause });
  }
}

export type MatchName = (name: string) => boolean;

/** @param patterns Names, or how they begin, with a `*` behind it. @throws {TypeError} for others. */
export function createNameMatcher(patterns: readonly string[]): MatchName {
  const odd = patterns.find((pattern) => !/^(?!$)[^*]*\*?$/.test(pattern));
  const problem = `"${odd}" must be a name, or a beginning and *`;
  if (odd !== undefined) throw new TypeError(`rest.ignoreQueryParameters: ${problem}`);
  return (name) =>
    patterns.some((one) => (one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : name === one));
}
