/** Puts a request message together from path, query and body. */
import { type DescField, type DescMessage, equals, type MessageShape } from "@bufbuild/protobuf";
import { messageFromJson } from "../json.ts";
import type { JsonOptions } from "../json-scalar.ts";
import { type ExactJson, isJsonObject } from "../json-text.ts";
import { badRequest, FieldViolation } from "../violation.ts";
import { type FieldPath, leafOf, resolveFieldPath } from "./field-path.ts";
import { parameterReader } from "./parameter.ts";
import { parseQuery } from "./query.ts";

type JsonObject = { [key: string]: ExactJson };

export interface RequestParts {
  /** What the variables of the path have captured. */
  readonly pathValues: readonly { readonly path: FieldPath; readonly text: string }[];
  /** Raw, without its `?`. */
  readonly query: string;
  /** Which field the body is; the whole message for `*`. */
  readonly bodyField: "*" | DescField | undefined;
  /** The body; undefined where there is none. */
  readonly body: ExactJson | undefined;
}

/**
 * Binds the parts of a request.
 *
 * The path wins. A body or query that says otherwise about the same field is
 * refused: it would deceive whoever has authorised the path.
 *
 * @throws {ConnectError} INVALID_ARGUMENT with a `google.rpc.BadRequest`.
 */
export function bindRequest<D extends DescMessage>(
  input: D,
  parts: RequestParts,
  options: JsonOptions,
): MessageShape<D> {
  try {
    const tree = bodyTree(parts);
    for (const [name, text] of parseQuery(parts.query)) {
      bindParameter(input, tree, { name, text, bodyField: parts.bodyField });
    }
    for (const { path, text } of parts.pathValues) bindVariable(tree, path, text);
    return messageFromJson(input, tree, options);
  } catch (error) {
    throw error instanceof FieldViolation ? badRequest([error]) : error;
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
  { name, text, bodyField }: { name: string; text: string; bodyField: RequestParts["bodyField"] },
): void {
  const [, base = name, key] = /^([^[]*)\[(.*)\]$/s.exec(name) ?? [];
  const path = resolveFieldPath(input, base.split("."));
  const field = "kind" in path ? undefined : leafOf(path);
  const read = field && parameterReader(field);
  const isKnown = (key !== undefined) === (field?.fieldKind === "map");
  if ("kind" in path || field === undefined || read === undefined || !isKnown) {
    throw new FieldViolation(name, "is not a known query parameter");
  }
  if (bodyField === "*" || bodyField === path[0]) {
    throw new FieldViolation(name, "belongs in the body, not in the query");
  }
  const holder = holderOf(tree, path);
  const existing = holder[field.jsonName];
  const value = readAt(name, () => read(text));
  if (field.fieldKind === "list") {
    holder[field.jsonName] = [...(Array.isArray(existing) ? existing : []), value];
  } else if (field.fieldKind === "map" && key !== undefined) {
    const entries = isJsonObject(existing) ? existing : Object.create(null);
    if (key in entries) throw new FieldViolation(name, "must be given once");
    entries[key] = value;
    holder[field.jsonName] = entries;
  } else if (existing !== undefined) {
    throw new FieldViolation(name, "must be given once");
  } else {
    holder[field.jsonName] = value;
  }
}

function bindVariable(tree: JsonObject, path: FieldPath, text: string): void {
  const field = leafOf(path);
  const name = path.map(({ name }) => name).join(".");
  const read = parameterReader(field);
  if (read === undefined) throw new Error(`${name} has no text form`); // a rule cannot name it
  const value = readAt(name, () => read(text));
  const holder = holderOf(tree, path);
  const spelling = spellingIn(holder, field);
  const said = spelling === undefined ? null : (holder[spelling] ?? null);
  if (said !== null && !saysTheSame(field, said, value)) {
    throw new FieldViolation(name, "must be what the path says, or be left out");
  }
  if (spelling !== undefined) delete holder[spelling];
  holder[field.jsonName] = value;
}

/** The object in which the last field of the path stands, made where it is missing. */
function holderOf(tree: JsonObject, path: FieldPath): JsonObject {
  let holder = tree;
  for (const field of path.slice(0, -1)) {
    const spelling = spellingIn(holder, field) ?? field.jsonName;
    const child = holder[spelling] ?? {};
    if (!isJsonObject(child)) throw new FieldViolation(field.name, "must be a JSON object");
    holder[spelling] = child;
    holder = child;
  }
  return holder;
}

/** How an object spells a field: JSON takes the proto name as well as the JSON name. */
function spellingIn(object: JsonObject, field: DescField): string | undefined {
  return [field.jsonName, field.name].find((name) => Object.hasOwn(object, name));
}

/** Compares what two JSON values make of a field: `"1"` and `1.0` are one number. */
function saysTheSame(field: DescField, a: ExactJson, b: ExactJson): boolean {
  const [left, right] = [a, b].map((value) =>
    messageFromJson(field.parent, { [field.jsonName]: structuredClone(value) }, {}),
  );
  return left !== undefined && right !== undefined && equals(field.parent, left, right);
}

function readAt(name: string, read: () => ExactJson): ExactJson {
  try {
    return read();
  } catch (error) {
    throw error instanceof FieldViolation ? error.within(name) : error;
  }
}
